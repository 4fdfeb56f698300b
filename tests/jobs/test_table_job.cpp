// Jobs that learn from tables.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/numpy.h>
#include <stoker/random.h>

#include "jobs/data_spec.h"
#include "jobs/train_job.h"
#include "jobs/use_model.h"
#include "support/temp_dir.h"

namespace stoker::jobs {
namespace {

using test::TempDir;

// Columns of very different scales; the class follows from two of them.
std::string flowers(int rows, bool names) {
  static constexpr const char* kNames[] = {"setosa", "versicolor", "virginica"};
  Rng rng(5);
  std::string text = "length,width,note,species\n";
  for (int row = 0; row < rows; ++row) {
    int label = row % 3;
    text += fmt::format("{},{},x,{}\n", 5000 + 400 * label + 50 * rng.normal(),
                        0.01 * (label == 1 ? 1 : -1) + 0.002 * rng.normal(),
                        names ? kNames[label] : std::to_string(label));
  }
  return text;
}

Job table_job(const TempDir& dir, bool names) {
  Job job;
  job.data = "csv:" + dir.write("flowers.csv", flowers(300, names));
  job.columns = "length,width";
  job.model = "mlp";
  job.epochs = 6;
  job.seed = 1;
  return job;
}

template <class F>
std::string problem_with(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TableJob, LearnsClassesFromColumnsOfAnyScale) {
  for (bool names : {true, false}) {
    TempDir dir;
    Job job = table_job(dir, names);
    job.out = dir / "run";
    std::ostringstream told;
    nlohmann::json result = train(job, &told);
    EXPECT_GT(result["val_accuracy"].get<double>(), 0.95) << told.str();
    EXPECT_NE(told.str().find("float32[2] of 3 classes, label \"species\""), std::string::npos)
        << told.str();
    Job check;
    check.data = "csv:" + dir.write("new.csv", flowers(90, names));
    check.columns = job.columns;
    check.validation_split = 0;
    nlohmann::json evaluated = evaluate(open_trained(job.out), check, nullptr);
    EXPECT_GT(evaluated["accuracy"].get<double>(), 0.95);
    EXPECT_EQ(evaluated["samples"], 90);
  }
}

TEST(TableJob, GoesOnExactlyWhereItWasStopped) {
  TempDir dir;
  Job job = table_job(dir, true);
  job.epochs = 3;
  nlohmann::json report = verify_resume(job, {3, 11}, dir / "verify", nullptr);
  EXPECT_TRUE(report["same"].get<bool>()) << report.dump();
}

// Prices that follow from a number and a text; the text's first column looks like numbers at first.
std::string houses(int rows, bool prices) {
  static constexpr const char* kCities[] = {"Oslo", "\"New, York\"", "Rome"};
  Rng rng(7);
  std::string text = prices ? "area,city,garden,price\n" : "garden,city,area\n";
  for (int row = 0; row < rows; ++row) {
    int city = row % 3;
    double area = row < 100 ? rng.integer(20, 200) : 20 + 180 * rng.uniform();
    double price = 1e5 * (city + 1) + 2000 * area + 500 * rng.normal();
    text += prices ? fmt::format("{},{},{},{}\n", area, kCities[city], "true", price)
                   : fmt::format("false,{},{}\n", kCities[city], area);
  }
  return text;
}

TEST(TableJob, PredictsNumbersFromNumbersAndTexts) {
  TempDir dir;
  Job job;
  job.data = "csv:" + dir.write("houses.csv", houses(600, true));
  job.model = "mlp";
  job.epochs = 12;
  job.seed = 1;
  job.out = dir / "run";
  std::ostringstream told;
  nlohmann::json result = train(job, &told);
  EXPECT_NE(told.str().find("float32[5], to predict \"price\""), std::string::npos) << told.str();
  EXPECT_LT(result["val_mean_absolute_error"].get<double>(), 15'000) << told.str();
  EXPECT_EQ(result["job"]["loss"], "mean_squared_error");

  TrainedModel trained = open_trained(job.out);
  ASSERT_EQ(trained.names.columns.size(), 3U);
  EXPECT_EQ(trained.names.columns[1].categories,
            (std::vector<std::string>{"New, York", "Oslo", "Rome"}));
  Job check;
  check.data = job.data;
  nlohmann::json evaluated = evaluate(trained, check, nullptr);
  EXPECT_EQ(evaluated["mean_absolute_error"], result["val_mean_absolute_error"]);

  // Other order of columns, no price; rows without a known city have none.
  std::string rows = houses(4, false) + "true,Paris,100\ntrue,,100\n";
  std::ostringstream listed;
  nlohmann::json predicted = predict(trained, {"csv:" + dir.write("new.csv", rows)}, 1, &listed);
  ASSERT_EQ(predicted.size(), 6U);
  EXPECT_EQ(predicted[5]["row"], 6);
  EXPECT_EQ(predicted[4]["numbers"], predicted[5]["numbers"]);
  EXPECT_NE(listed.str().find("row 1  "), std::string::npos) << listed.str();
  double off =
      std::abs(predicted[3]["numbers"][0].get<double>() - predicted[0]["numbers"][0].get<double>());
  EXPECT_LT(off, 4e5);
}

TEST(TableJob, PredictsClassesOfRows) {
  TempDir dir;
  Job job = table_job(dir, true);
  job.out = dir / "run";
  train(job, nullptr);
  std::string new_rows = "width,length\n0.01,5400\n-0.01,5800\n";
  nlohmann::json rows =
      predict(open_trained(job.out), {"csv:" + dir.write("new.csv", new_rows)}, 2, nullptr);
  EXPECT_EQ(rows[0]["class"], "versicolor");
  EXPECT_EQ(rows[1]["class"], "virginica");
  EXPECT_EQ(rows[1]["top"].size(), 2U);
  EXPECT_NE(problem_with([&] {
              predict(open_trained(job.out), {"csv:" + dir.write("bad.csv", "width\n1\n")}, 1,
                      nullptr);
            }).find("length"),
            std::string::npos);
}

TEST(TableJob, LearnsWholeNumbersAsNumbersWhereTheLossSaysSo) {
  TempDir dir;
  Job job;
  job.data = "csv:" + dir.write("a.csv", "x,y\n1,-2\n2,-4\n3,-6\n4,-8\n5,-10\n");
  EXPECT_NE(problem_with([&] { open_data(job); }).find("--loss mse"), std::string::npos);
  job.loss = "mse";
  JobData data = open_data(job);
  EXPECT_EQ(data.classes, 0);
  EXPECT_EQ(data.outputs().count, 1);
  job.classes = 3;
  EXPECT_NE(problem_with([&] { open_data(job); }).find("numbers are predicted"), std::string::npos);
}

TEST(TableJob, RowsOfArraysMayHaveNumbersToPredict) {
  TempDir dir;
  Tensor x(DType::float32, {64, 3}), y(DType::float32, {64, 2});
  Rng rng(3);
  for (int64_t row = 0; row < 64; ++row) {
    float* to = x.data_mut<float>() + 3 * row;
    for (int column = 0; column < 3; ++column) to[column] = rng.normal();
    y.data_mut<float>()[2 * row] = 100 + to[0];
    y.data_mut<float>()[2 * row + 1] = to[1] - to[2];
  }
  save_npz(dir / "rows.npz", {{"x", x}, {"y", y}});
  Job job;
  job.data = "npz:" + std::string(dir / "rows.npz");
  job.model = "mlp";
  job.epochs = 2;
  job.out = dir / "run";
  train(job, nullptr);
  nlohmann::json rows = predict(open_trained(job.out), {job.data}, 1, nullptr);
  ASSERT_EQ(rows.size(), 64U);
  EXPECT_NEAR(rows[0]["numbers"][0].get<double>(), 100, 5);
  EXPECT_EQ(rows[0]["numbers"].size(), 2U);
}

// Sparse rows of 9 features; the class, -1 or 1, follows from which of them occur.
std::string sparse(int rows) {
  Rng rng(9);
  std::string text;
  for (int row = 0; row < rows; ++row) {
    bool positive = row % 2 == 0;
    text += fmt::format("{} {}:{} {}:1 # row {}\n", positive ? "+1" : "-1", positive ? 2 : 3,
                        1 + 0.1 * rng.normal(), rng.integer(4, 9), row);
  }
  return text;
}

TEST(TableJob, LearnsClassesFromSparseRows) {
  TempDir dir;
  Job job;
  job.data = "svmlight:" + dir.write("train.svm", sparse(300) + "1 9:1\n");
  job.model = "mlp";
  job.epochs = 6;
  job.seed = 1;
  job.out = dir / "run";
  std::ostringstream told;
  nlohmann::json result = train(job, &told);
  EXPECT_GT(result["val_accuracy"].get<double>(), 0.95) << told.str();
  EXPECT_NE(told.str().find("float32[9] of 2 classes, labels -1, 1"), std::string::npos)
      << told.str();
  // Rows of fewer features, and of one class: the model's count.
  TrainedModel trained = open_trained(job.out);
  std::string some = "svmlight:" + dir.write("new.svm", "1 2:1\n0 3:1\n");
  nlohmann::json rows = predict(trained, {some}, 1, nullptr);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["class"], "1");
  EXPECT_EQ(rows[1]["class"], "-1");
  Job check;
  check.data = "svmlight:" + dir.write("check.svm", "1 2:1\n1 2:0.9\n");
  check.validation_split = 0;
  EXPECT_EQ(evaluate(trained, check, nullptr)["accuracy"], 1.0);
  check.data = "svmlight:" + dir.write("other.svm", "7 2:1\n1 2:0.9\n");
  EXPECT_NE(problem_with([&] {
              evaluate(trained, check, nullptr);
            }).find("label 7 is none of the classes -1, 1"),
            std::string::npos);
}

TEST(TableJob, PredictsNumbersFromSparseRows) {
  TempDir dir;
  Job job{.data = "svmlight:" + dir.write("a.svm", "0.5 1:1\n1.5 2:1\n2 1:1 2:1\n")};
  JobData data = open_data(job);
  EXPECT_EQ(data.classes, 0);
  EXPECT_EQ(data.outputs().count, 1);
  job.data = "svmlight:" + dir.write("b.svm", "1 1:1\n2 2:1\n");
  EXPECT_EQ(open_data(job).classes, 2);
  job.loss = "mse";
  EXPECT_EQ(open_data(job).classes, 0);
}

TEST(TableJob, SaysWhatATableCannotBe) {
  TempDir dir;
  Job job = table_job(dir, true);
  job.columns = "length,size";
  EXPECT_NE(problem_with([&] { open_data(job); }).find("names \"size\""), std::string::npos);
  job = table_job(dir, true);
  job.loss = "mse";
  EXPECT_NE(problem_with([&] { open_data(job); }).find("\"species\" holds texts"),
            std::string::npos);
  std::string names = "name,label\n";
  for (int row = 0; row < 1100; ++row) names += fmt::format("n{},{}\n", row, row % 2);
  job = Job{.data = "csv:" + dir.write("names.csv", names)};
  EXPECT_NE(problem_with([&] { open_data(job); }).find("1100 different texts"), std::string::npos);
  job = table_job(dir, true);
  job.augment = true;
  EXPECT_NE(problem_with([&] { open_data(job); }).find("augment: the data is a table"),
            std::string::npos);
  job = table_job(dir, true);
  job.model = "cnn";
  EXPECT_NE(problem_with([&] { train(job, nullptr); }).find("give --model mlp"), std::string::npos);
}

TEST(TableJob, FillsMissingValuesWhereItIsToldHow) {
  TempDir dir;
  Job job;
  job.data = "csv:" + dir.write("a.csv", "x,y,label\n1,2,0\n,3,1\n4,,0\n5,6,1\n");
  EXPECT_NE(problem_with([&] {
              job.model = "mlp";
              train(job, nullptr);
            }).find("--missing 0 of `stoker train` and `stoker predict`"),
            std::string::npos);
  job.missing = "0";
  EXPECT_EQ(open_data(job).classes, 2);
}

TEST(TableJob, ReadsTablesAsTheyAreWritten) {
  TempDir dir;
  Job job;
  std::string semicolons = "x;y;label\n1;?;0\n3;4;1\n5;6;0\n7;8;1\n";
  job.data = "csv:" + dir.write("a.csv", semicolons);
  EXPECT_NE(problem_with([&] { open_data(job); }).find("give --delimiter ';'"), std::string::npos);
  job.delimiter = ";";
  JobData texts = open_data(job);
  EXPECT_EQ(texts.picture.shape, Shape({5}));
  EXPECT_NE(texts.text.find("\"y\": 4 texts, 3 of them numbers, but \"?\" is none"),
            std::string::npos)
      << texts.text;
  job.na_values = "?";
  job.missing = "0";
  EXPECT_EQ(open_data(job).picture.shape, Shape({2}));
  job.delimiter = ";;";
  EXPECT_NE(problem_with([&] { open_data(job); }).find("one character"), std::string::npos);

  Job tabs{.data = "csv:" + dir.write("a.tsv", "x\ty\tlabel\n1\t2\t0\n3\t4\t1\n5\t6\t0\n")};
  EXPECT_EQ(open_data(tabs).picture.shape, Shape({2}));

  Job rows{.data = "csv:" + dir.write("rows.csv", "1,2,0\n3,4,1\n5,6,0\n7,8,1\n9,10,0\n")};
  EXPECT_NE(problem_with([&] { open_data(rows); }).find("--no-header"), std::string::npos);
  rows.no_header = true;
  rows.validation_split = 0;
  EXPECT_EQ(open_data(rows).train.elements.cardinality().count, 5);
  EXPECT_NE(open_data(rows).text.find("label \"2\""), std::string::npos);
}

TEST(TableJob, RefusesWhatNothingCanBeLearnedFrom) {
  TempDir dir;
  Job job{.data = "csv:" + dir.write("a.csv", "x,label\n1,0\n2,1000000000\n3,1\n"), .model = "mlp"};
  EXPECT_NE(problem_with([&] { open_data(job); }).find("holds 1000000000 in 3 rows"),
            std::string::npos);
  job.data = "csv:" + dir.write("b.csv", "x,y,label\n1,2,0\n3,nan,1\n4,5,1\n6,7,0\n");
  job.validation_split = 0;
  EXPECT_NE(problem_with([&] { train(job, nullptr); }).find("number 2 of a row is nan"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker::jobs
