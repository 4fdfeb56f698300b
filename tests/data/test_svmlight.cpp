#include <algorithm>

#include <stoker/svmlight.h>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "data/elements.h"
#include "data/sources/files.h"
#include "support/deflate.h"
#include "support/temp_dir.h"

namespace stoker::data {
namespace {

using test::TempDir;

const char* const kRows =
    "# made by hand\n"
    "+1 1:0.5 3:-2e1 # a note\n"
    "\n"
    "-1 qid:7 2:1\t3:.25\r\n"
    "1";

template <class F>
std::string problem_of(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string rows_of(const Dataset& dataset) {
  std::string text;
  for (const Batch& element : dataset) {
    for (int64_t i = 0; i < element[0].elements(); ++i)
      text += fmt::format("{} ", element[0].at(i));
    text += fmt::format("= {}; ", element[1].at(0));
  }
  return text;
}

TEST(Svmlight, GivesDenseRowsWithTheirLabels) {
  TempDir dir;
  Dataset rows = svmlight(dir.write("a.svm", kRows));
  EXPECT_EQ(to_string(rows.spec()), "(float32[3], int64[])");
  EXPECT_EQ(rows.cardinality().count, 3);
  EXPECT_TRUE(rows.random_access());
  EXPECT_EQ(rows_of(rows), "0.5 0 -20 = 1; 0 1 0.25 = -1; 0 0 0 = 1; ");
}

TEST(Svmlight, CountsFromZeroWhereAZeroOccursOrIsAskedFor) {
  TempDir dir;
  std::string zero = dir.write("zero.svm", "1 0:1 2:3\n"),
              one = dir.write("one.svm", "1 1:1 2:3\n");
  EXPECT_EQ(rows_of(svmlight(zero)), "1 0 3 = 1; ");
  EXPECT_EQ(rows_of(svmlight(one)), "1 3 = 1; ");
  EXPECT_EQ(rows_of(svmlight(one, {.zero_based = true})), "0 1 3 = 1; ");
  EXPECT_EQ(svmlight_layout({one, zero}).num_features, 3);
  EXPECT_TRUE(svmlight_layout({one, zero}).zero_based);
  EXPECT_NE(problem_of([&] {
              rows_of(svmlight(zero, {.zero_based = false}));
            }).find("zero.svm, line 1): index 0, but indices count from 1; give zero_based = true"),
            std::string::npos);
}

TEST(Svmlight, TakesTheNumberOfFeaturesOfTheTrainingFile) {
  TempDir dir;
  std::string path = dir.write("test.svm", "1 2:1\n0 5:1\n");
  EXPECT_EQ(svmlight_layout(path).num_features, 5);
  EXPECT_EQ(to_string(svmlight(path, {.num_features = 8}).spec()), "(float32[8], int64[])");
  std::string problem = problem_of([&] { rows_of(svmlight(path, {.num_features = 4})); });
  EXPECT_NE(problem.find("line 2): index 5 is behind the last of 4 features, which count from 1"),
            std::string::npos)
      << problem;
}

TEST(Svmlight, HasFloatLabelsWhereOneIsAFraction) {
  TempDir dir;
  EXPECT_EQ(rows_of(svmlight(dir.write("a", "1 1:1\n2.5 1:2\n"))), "1 = 1; 2 = 2.5; ");
  std::string whole = dir.write("b", "1.0 1:1\n-3.000 1:2\n");
  EXPECT_EQ(svmlight_layout(whole).label_dtype, DType::int64);
  EXPECT_EQ(rows_of(svmlight(whole)), "1 = 1; 2 = -3; ");
  EXPECT_EQ(svmlight(whole, {.label_dtype = DType::float32}).spec()[1].dtype, DType::float32);
  std::string problem = problem_of(
      [&] { rows_of(svmlight(dir.write("c", "0.5 1:1\n"), {.label_dtype = DType::int64})); });
  EXPECT_NE(problem.find("the label is 0.5, expected a whole number"), std::string::npos)
      << problem;
}

TEST(Svmlight, ReadsSeveralFilesAndGzipInOrder) {
  TempDir dir;
  dir.write("part-1.svm", "1 1:1\n"), dir.write("part-2.svm", "2 2:2\n3 1:3\n");
  Dataset rows = svmlight(dir / "part-*.svm");
  EXPECT_EQ(rows_of(rows), "1 0 = 1; 0 2 = 2; 3 0 = 3; ");
  EXPECT_EQ(rows_of(rows.skip(1).take(1)), "0 2 = 2; ");
  Dataset packed = svmlight(dir.write("rows.gz", test::gzip(kRows)));
  EXPECT_FALSE(packed.random_access());
  EXPECT_EQ(rows_of(packed), "0.5 0 -20 = 1; 0 1 0.25 = -1; 0 0 0 = 1; ");
}

TEST(Svmlight, NamesFileAndLineOfWhatDoesNotFit) {
  TempDir dir;
  struct Wrong {
    const char *line, *says;
  };
  for (const Wrong& wrong : {Wrong{"1 3:1 2:1", "index 2 follows index 3; indices ascend"},
                             Wrong{"1 2:1 2:1", "index 2 follows index 2"},
                             Wrong{"1:1 2:1", "expected a label first, got \"1:1\""},
                             Wrong{"1,2 1:1", "expected one label, got several: \"1,2\""},
                             Wrong{"x 1:1", "expected a number as the label, got \"x\""},
                             Wrong{"1 1:", "expected INDEX:VALUE, got \"1:\""},
                             Wrong{"1 1:2x", "expected INDEX:VALUE, got \"1:2x\""},
                             Wrong{"1 -1:2", "expected INDEX:VALUE, got \"-1:2\""},
                             Wrong{"1 2", "expected INDEX:VALUE, got \"2\""},
                             Wrong{"1 qid:a 2:1", "expected qid:NUMBER, got \"qid:a\""},
                             Wrong{"   # blank", "the line has no label"}}) {
    std::string path = dir.write("bad.svm", fmt::format("1 1:1 4:1\n{}\n2 2:2\n", wrong.line));
    Dataset rows = svmlight(path);
    std::string problem = problem_of([&] { rows_of(rows); });
    EXPECT_NE(problem.find("bad.svm, line 2): " + std::string(wrong.says)), std::string::npos)
        << problem;
    EXPECT_EQ(rows_of(rows.on_error(OnError::skip)), "1 0 0 1 = 1; 0 2 0 0 = 2; ") << wrong.line;
  }
}

TEST(Svmlight, RefusesWhatCannotBe) {
  TempDir dir;
  std::string path = dir.write("a.svm", "1 1:1\n"), empty = dir.write("empty.svm", "1\n");
  auto says = [&](const SvmlightOptions& options, const std::string& file, const char* what) {
    std::string problem = problem_of([&] { svmlight(file, options); });
    EXPECT_NE(problem.find(what), std::string::npos) << problem;
  };
  says({.num_features = 0}, path, "num_features is 0, expected 1 to 16777216");
  says({.max_line_bytes = 0}, path, "max_line_bytes is 0");
  says({.label_dtype = DType::uint8}, path, "label_dtype is uint8, expected int64 or float32");
  says({}, empty, "the files hold no values; give num_features");
  says({}, dir.write("far.svm", "1 99999999999:1\n"), "index 99999999999 makes rows of more than");
  says({}, dir / "nowhere.svm", "nowhere.svm");
  says({.max_line_bytes = 3}, path, "line 1");
}

TEST(Svmlight, ShufflesExactlyAndTheSameAtAnyThreadCount) {
  TempDir dir;
  std::string text;
  for (int row = 0; row < 5000; ++row) text += fmt::format("{} {}:{}\n", row, row % 7 + 1, row);
  Dataset rows = svmlight(dir.write("many.svm", text)).shuffle({.seed = 3});
  std::vector<int64_t> first;
  for (int threads : {1, 3}) {
    std::vector<int64_t> labels;
    Iterator walk = walk_with(rows, threads);
    while (const Batch* element = walk.next()) labels.push_back(int64_t((*element)[1].at(0)));
    if (first.empty()) first = labels;
    EXPECT_EQ(labels, first);
  }
  std::vector<int64_t> sorted = first;
  std::ranges::sort(sorted);
  EXPECT_NE(sorted, first);
  for (int64_t row = 0; row < 5000; ++row) ASSERT_EQ(sorted[size_t(row)], row);
}

}  // namespace
}  // namespace stoker::data
