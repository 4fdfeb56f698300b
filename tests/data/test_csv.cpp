#include <stoker/csv.h>

#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "data/elements.h"
#include "data/sources/files.h"
#include "support/deflate.h"
#include "support/temp_dir.h"

namespace stoker::data {
namespace {

using test::TempDir;

const char* const kPeople =
    "name,age,height,member,city\n"
    "Ann,31,1.70,true,\"Paris, 7e\"\n"
    "\"Bo \"\"B\"\"\",-2,1e1,false,\"two\nlines\"\n"
    "Cy,40,.5,true,\n";

// Rows as text, so that differences are easy to read.
std::vector<std::string> rows_of(const Dataset& dataset, int threads = 2) {
  Iterator walk = walk_with(dataset, threads);
  std::vector<std::string> rows;
  while (const Batch* element = walk.next()) {
    std::string row;
    for (const Tensor& component : *element)
      row += (row.empty() ? "" : "|") + (component.dtype() == DType::bytes
                                             ? *component.data<std::string>()
                                             : fmt::format("{}", component.at(0)));
    rows.push_back(row);
  }
  return rows;
}

std::string numbers(int rows) {
  std::string text = "a,b,c,label\n";
  for (int row = 0; row < rows; ++row)
    text += fmt::format("{},{:.4f},{},{}\n", row, row * 0.37, row * row, row % 3);
  return text;
}

TEST(Csv, HasOneComponentPerColumnWithTheDtypeOfItsValues) {
  TempDir dir;
  Dataset people = csv(dir.write("people.csv", kPeople));
  EXPECT_EQ(to_string(people.spec()), "(bytes[], int64[], float32[], bool[], bytes[])");
  EXPECT_EQ(people.cardinality().count, 3);
  EXPECT_TRUE(people.random_access());
  EXPECT_EQ(rows_of(people),
            (std::vector<std::string>{"Ann|31|1.7000000476837158|1|Paris, 7e",
                                      "Bo \"B\"|-2|10|0|two\nlines", "Cy|40|0.5|1|"}));
}

TEST(Csv, ANumberBeyondFloat32IsAnErrorAndDoesNotMakeItsColumnText) {
  TempDir dir;
  for (const char* large : {"1e40", "-3.5e39", "+1e999"}) {
    Dataset table = csv(dir.write("large.csv", fmt::format("a,b\n1.5,1\n{},2\n", large)));
    EXPECT_EQ(to_string(table.spec()), "(float32[], int64[])") << large;
    try {
      rows_of(table);
      FAIL() << large;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(fmt::format("expected float32, got \"{}\"", large)),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(Csv, SelectsColumnsInTheOrderGivenWithTheLabelLast) {
  TempDir dir;
  std::string path = dir.write("people.csv", kPeople);
  CsvOptions options{.columns = {{"age", DType::float32}},
                     .select_columns = {"height", "age"},
                     .label_name = "member"};
  Dataset people = csv(path, options);
  EXPECT_EQ(to_string(people.spec()), "(float32[], float32[], bool[])");
  EXPECT_EQ(rows_of(people)[1], "10|-2|0");
  std::vector<CsvColumn> columns = csv_columns(path, options);
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_EQ(columns[0].name, "height");
  EXPECT_EQ(columns[2].name, "member");
}

TEST(Csv, PacksNumbersIntoOneVector) {
  TempDir dir;
  Dataset rows = csv(dir.write("a.csv", numbers(5)), {.label_name = "label", .pack = true});
  EXPECT_EQ(to_string(rows.spec()), "(float32[3], int64[])");
  Batch batch = rows.batch(5).get_single_element();
  EXPECT_EQ(batch[0].shape(), Shape({5, 3}));
  EXPECT_EQ(batch[0].data<float>()[3 * 3 + 2], 9.0F);
  EXPECT_EQ(batch[1], Tensor::from<int64_t>({0, 1, 2, 0, 1}, {5}));
  EXPECT_NE(message_of([&] {
              csv(dir.write("p.csv", kPeople), {.pack = true});
            }).find("column \"name\" is text"),
            std::string::npos);
}

TEST(Csv, WithoutAHeaderNumbersItsColumns) {
  TempDir dir;
  std::string path = dir.write("a.csv", "1;x\n2;y\n");
  EXPECT_EQ(rows_of(csv(path, {.header = false, .select_columns = {"1", "0"}, .field_delim = ';'})),
            (std::vector<std::string>{"x|1", "y|2"}));
  EXPECT_EQ(rows_of(csv(path, {.header = false,
                               .column_names = {"n", "t"},
                               .select_columns = {"t"},
                               .field_delim = ';'})),
            (std::vector<std::string>{"x", "y"}));
}

TEST(Csv, FillsMissingValuesOnlyWhereItIsToldHow) {
  TempDir dir;
  std::string path = dir.write("a.csv", "x,y,t\n1,2.5,a\n,NA,\n3,?,NA\n");
  std::string message = message_of([&] { rows_of(csv(path, {.na_values = {"NA", "?"}})); });
  EXPECT_NE(message.find("a.csv, line 3"), std::string::npos) << message;
  EXPECT_NE(message.find("column 1 (\"x\"): the value is missing"), std::string::npos) << message;
  EXPECT_EQ(rows_of(csv(path, {.columns = {{"y", DType::float32, "-1"}},
                               .missing = "7",
                               .na_values = {"NA", "?"}})),
            (std::vector<std::string>{"1|2.5|a", "7|-1|", "3|-1|"}));
  Dataset nan =
      csv(path, {.columns = {{"x", DType::float32}}, .missing = "nan", .na_values = {"NA", "?"}});
  EXPECT_TRUE(std::isnan(all_of(nan)[1][0].item()));
  EXPECT_NE(message_of([&] { csv(path, {.missing = "none"}); }).find("is no int64"),
            std::string::npos);
}

TEST(Csv, FillsGapsWithNanBesideColumnsThatCannotHoldIt) {
  TempDir dir;
  std::string path = dir.write("a.csv", "id,age,height,member\n1,40,1.5,true\n2,,,false\n");
  Dataset rows = csv(path, {.missing = "nan"});
  EXPECT_EQ(to_string(rows.spec()), "(int64[], float32[], float32[], bool[])");
  std::vector<Batch> all = all_of(rows);
  EXPECT_EQ(all[0][1].item(), 40);
  EXPECT_TRUE(std::isnan(all[1][1].item()));
  EXPECT_TRUE(std::isnan(all[1][2].item()));
  EXPECT_EQ(csv(path, {.missing = "0"}).spec()[1].dtype, DType::int64);
  // A gap behind the rows that dtypes are inferred from.
  std::string late = dir.write("b.csv", "id,x\n1,0.5\n,1.5\n");
  std::string message =
      message_of([&] { rows_of(csv(late, {.missing = "nan", .num_rows_for_inference = 1})); });
  EXPECT_NE(message.find("missing = \"nan\" is no int64; state the column's dtype"),
            std::string::npos)
      << message;
}

TEST(Csv, SaysFileLineAndColumnOfAWrongValue) {
  TempDir dir;
  std::string text = numbers(400) + "\"\n\",1,2,0\n# note\n400,x1,2,0\n1,2,3\n";
  std::string path = dir.write("a.csv", text);
  CsvOptions options{.columns = {{"a", DType::bytes}}, .comment = '#'};
  for (bool index : {true, false}) {
    options.index = index;
    for (int threads : {1, 3}) {
      Iterator walk = walk_with(csv(path, options).on_error(OnError::skip), threads);
      int64_t rows = 0;
      while (walk.next() != nullptr) ++rows;
      EXPECT_EQ(rows, 401);
      std::vector<BadElement> bad = walk.quarantine();
      ASSERT_EQ(bad.size(), 2U);
      EXPECT_NE(bad[0].message.find(path + ", line 405"), std::string::npos) << bad[0].message;
      EXPECT_NE(bad[0].message.find("column 2 (\"b\"): expected float32, got \"x1\""),
                std::string::npos)
          << bad[0].message;
      EXPECT_NE(bad[1].message.find("line 406"), std::string::npos) << bad[1].message;
      EXPECT_NE(bad[1].message.find("the record has 3 fields, expected 4"), std::string::npos)
          << bad[1].message;
    }
  }
}

TEST(Csv, AStreamGivesTheSameRowsAsTheIndexAtAnyThreadCount) {
  TempDir dir;
  std::string path = dir.write("a.csv", numbers(3000));
  std::string packed = dir.write("a.csv.gz", test::gzip(numbers(3000)));
  std::vector<std::string> expected = rows_of(csv(path), 1);
  ASSERT_EQ(expected.size(), 3000U);
  for (int threads : {1, 2, 7}) {
    EXPECT_EQ(rows_of(csv(path), threads), expected);
    EXPECT_EQ(rows_of(csv(path, {.index = false}), threads), expected);
    EXPECT_EQ(rows_of(csv(packed), threads), expected);
  }
  EXPECT_FALSE(csv(packed).random_access());
}

// Numbers of all lengths, quotes, missing values and types without kernels, in every order.
std::string motley(int rows) {
  Rng rng(6);
  std::string text = "short,long,whole,note,small,flag,unused\n";
  for (int row = 0; row < rows; ++row) {
    bool odd = rng.integer(0, 50) == 0;
    text +=
        fmt::format("{:.{}f},{},", rng.normal(), rng.integer(0, 9), double(rng.normal()) * 1e-3);
    text += odd ? "\"12\"," : fmt::format("{},", rng.integer(-1000, 1000) * 1'000'000'007);
    text += rng.integer(0, 3) == 0   ? "\"a, \"\"b\"\"\","
            : rng.integer(0, 3) == 0 ? "\"two\nlines\","
                                     : fmt::format("note{},", row);
    text += fmt::format("{},{},", rng.integer(-100, 100),
                        odd            ? ""
                        : row % 2 == 0 ? "true"
                                       : "false");
    text += odd ? "\"x,y\"\n" : "x\n";
    if (row % 500 == 499) text += "\n";  // a blank line
  }
  return text;
}

TEST(Csv, GivesTheSameRowsByColumnsAndByRecords) {
  TempDir dir;
  std::string path = dir.write("a.csv", motley(3000));
  CsvOptions options{.columns = {{.name = "small", .dtype = DType::int8},
                                 {.name = "flag", .dtype = DType::bool_, .fallback = "false"}},
                     .select_columns = {"long", "short", "whole", "note", "small", "flag"}};
  CsvOptions stream = options;
  stream.index = false;
  std::vector<std::string> expected = rows_of(csv(path, stream).batch(1).unbatch(), 1);
  ASSERT_EQ(expected.size(), 3000U);
  for (int64_t batch : {2, 64, 1000})
    for (int threads : {1, 3})
      EXPECT_EQ(rows_of(csv(path, options).batch(batch).unbatch(), threads), expected);
  TensorMap columns = load_csv(path, options);
  for (size_t row = 0; row < expected.size(); row += 97) {
    EXPECT_EQ(fmt::format("{}|{}|{}|{}|{}|{}", columns["long"].at(int64_t(row)),
                          columns["short"].at(int64_t(row)), columns["whole"].at(int64_t(row)),
                          columns["note"].data<std::string>()[row],
                          columns["small"].at(int64_t(row)), columns["flag"].at(int64_t(row))),
              expected[row]);
  }
}

TEST(Csv, LeavesOutBadRowsAmongMany) {
  TempDir dir;
  std::string text = "a,b,c\n";
  std::vector<std::string> expected;
  for (int row = 0; row < 2000; ++row) {
    bool bad = row % 331 == 150;  // behind the rows that dtypes are inferred from
    text += bad && row % 2 == 0 ? fmt::format("{},\"x\"y,{}\n", row, row)
            : bad               ? fmt::format("{},{},wrong\n", row, row)
                                : fmt::format("{},t,{}\n", row, row);
    if (!bad) expected.push_back(fmt::format("{}|t|{}", row, row));
  }
  std::string path = dir.write("a.csv", text);
  Dataset rows = csv(path).on_error(OnError::skip, {.max_errors = 100});
  EXPECT_EQ(rows_of(rows.batch(100).unbatch()), expected);
}

TEST(Csv, GoesOnAtEveryPlace) {
  TempDir dir;
  std::string path = dir.write("a.csv", numbers(40));
  dir.write("b.csv.gz", test::gzip(numbers(40)));
  for (const Dataset& rows :
       {csv(path).shuffle().batch(3).with_options({.seed = 4}),
        csv(dir / "b.csv.gz").shuffle(9).batch(3).with_options({.seed = 4})}) {
    std::vector<Batch> all = all_of(rows);
    Iterator walk = walk_with(rows, 2);
    for (size_t at = 0; at < all.size(); ++at) {
      Iterator resumed = walk_with(rows, at % 2 == 0 ? 1 : 5, 1, walk.state());
      const Batch* next = resumed.next();
      ASSERT_NE(next, nullptr);
      EXPECT_EQ((*next)[2], all[at][2]);
      walk.next();
    }
  }
}

TEST(Csv, ReadsSeveralFilesWithOneHeader) {
  TempDir dir;
  dir.write("part-1.csv", "a,b\n1,2\n");
  dir.write("part-2.csv", "a,b\n3,4\n5,6\n");
  EXPECT_EQ(rows_of(csv(dir / "part-*.csv")), (std::vector<std::string>{"1|2", "3|4", "5|6"}));
  dir.write("part-3.csv", "a,c\n3,4\n");
  EXPECT_NE(message_of([&] {
              csv(dir / "part-*.csv");
            }).find("part-3.csv: line 1: the columns are \"a\", \"c\""),
            std::string::npos);
}

TEST(Csv, RefusesWhatCannotBe) {
  TempDir dir;
  std::string path = dir.write("a.csv", numbers(3)), empty = dir.write("e.csv", "");
  EXPECT_THROW(csv(dir / "none.csv"), FileError);
  EXPECT_THROW(csv(dir / "none-*.csv"), FileError);
  EXPECT_THROW(csv(empty), FileError);
  EXPECT_THROW(csv(dir.write("d.csv", "a,a\n1,2\n")), FileError);
  EXPECT_NE(message_of([&] {
              csv(path, {.label_name = "x"});
            }).find("label_name names \"x\", but the columns are \"a\", \"b\", \"c\", \"label\""),
            std::string::npos);
  EXPECT_THROW(csv(path, {.select_columns = {"a", "a"}}), ValueError);
  EXPECT_THROW(csv(path, {.column_names = {"a"}}), ValueError);
  EXPECT_THROW(csv(path, {.columns = {{"a", DType::float16}}}), ValueError);
  EXPECT_THROW(csv(path, {.field_delim = '\n'}), ValueError);
  EXPECT_THROW(csv(std::vector<std::string>{}), ValueError);
}

TEST(Csv, AHeaderAloneIsAnEmptyDataset) {
  TempDir dir;
  Dataset rows = csv(dir.write("a.csv", "a,b\n"));
  EXPECT_EQ(rows.cardinality().count, 0);
  EXPECT_TRUE(rows_of(rows).empty());
}

TEST(Csv, ThatChangedSinceItWasIndexedIsAnError) {
  TempDir dir;
  std::string path = dir.write("a.csv", numbers(30));
  Dataset rows = csv(path);
  dir.write("a.csv", numbers(31));
  EXPECT_NE(message_of([&] { rows_of(rows); }).find("has changed"), std::string::npos);
}

TEST(DecodeCsv, TurnsLinesIntoFields) {
  Dataset lines = from_slices(Tensor::from<std::string>({"1,a", "2,\"b,c\""}, {2}));
  Dataset rows = lines.map(decode_csv({{"n", DType::int32}, {"t", DType::bytes}}));
  EXPECT_EQ(to_string(rows.spec()), "(int32[], bytes[])");
  EXPECT_EQ(rows_of(rows), (std::vector<std::string>{"1|a", "2|b,c"}));
}

TEST(LoadCsv, GivesColumnsByName) {
  TempDir dir;
  TensorMap table = load_csv(dir.write("a.csv", numbers(1000)));
  EXPECT_EQ(table.size(), 4U);
  EXPECT_EQ(table.at("c").data<int64_t>()[999], 999 * 999);
  dir.write("a.csv.gz", test::gzip(numbers(1000)));
  EXPECT_EQ(load_csv(dir / "a.csv.gz").at("b"), table.at("b"));
  EXPECT_EQ(load_csv(dir.write("h.csv", "a,b\n")).at("a").shape(), Shape({0}));
}

TEST(SaveCsv, WritesWhatLoadCsvReads) {
  TempDir dir;
  Tensor floats = Tensor::from({0.1F, -1e-30F, 16777216.0F}, {3});
  Tensor texts = Tensor::from<std::string>({"a,b", "say \"x\"", ""}, {3});
  Tensor flags = Tensor::from(std::vector<bool>{true, false, true}, {3});
  Tensor pairs = Tensor::from<int64_t>({1, 2, 3, 4, 5, 6}, {3, 2});
  save_csv(dir / "a.csv", {{"f", floats}, {"t", texts}, {"b", flags}, {"p", pairs}});
  TensorMap table = load_csv(dir / "a.csv");
  EXPECT_EQ(table.at("f"), floats);
  EXPECT_EQ(table.at("t"), texts);
  EXPECT_EQ(table.at("b"), flags);
  EXPECT_EQ(table.at("p_1"), Tensor::from<int64_t>({2, 4, 6}, {3}));
  EXPECT_THROW(save_csv(dir / "b.csv", {{"f", floats}, {"p", Tensor::zeros({2})}}), ShapeError);
}

}  // namespace
}  // namespace stoker::data
