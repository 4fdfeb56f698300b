// Jobs that learn from tables.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include <fmt/format.h>
#include <stoker/error.h>
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

TEST(TableJob, SaysWhatATableCannotBe) {
  TempDir dir;
  Job job = table_job(dir, true);
  job.columns = "";
  EXPECT_EQ(problem_with([&] { open_data(job); }),
            "columns: note is text, a job learns from numbers; give --columns length,width");
  job.columns = "length,size";
  EXPECT_NE(problem_with([&] { open_data(job); }).find("names \"size\""), std::string::npos);
  job.columns = "length";
  job.label_column = "width";
  EXPECT_NE(problem_with([&] { open_data(job); }).find("label_column: \"width\" holds float32"),
            std::string::npos);
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
            }).find("the value is missing"),
            std::string::npos);
  job.missing = "0";
  EXPECT_EQ(open_data(job).classes, 2);
}

}  // namespace
}  // namespace stoker::jobs
