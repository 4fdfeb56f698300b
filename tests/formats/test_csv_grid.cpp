#include "formats/csv_grid.h"

#include <gtest/gtest.h>

#include "base/isa.h"

namespace stoker {
namespace {

// Whether records become a grid of two columns; its fields are then those that CsvFields gives.
bool becomes_grid(const std::string& text, const CsvFormat& format = {}) {
  std::vector<std::string_view> records;
  cut_csv(text, format, records);
  CsvGrid grid(format, 2);
  if (records.empty() || !grid.find(records, text.data())) return false;
  EXPECT_EQ(grid.rows(), records.size());
  for (size_t row = 0; row < records.size(); ++row) {
    CsvFields walk(records[row], format);
    for (size_t column = 0; column < 2; ++column) {
      std::string expected(walk.next().value());
      CsvFields alone(grid.field(row, column), format);
      EXPECT_EQ(alone.next(), expected) << text;
      if (auto field = grid.text(row, column)) {
        EXPECT_EQ(*field, expected) << text;
      }
    }
    EXPECT_TRUE(walk.done());
  }
  return true;
}

class Grid : public testing::Test {
  void SetUp() override {
    if (host_isa() == Isa::generic) GTEST_SKIP() << "there are no vector kernels for this host";
  }
};

TEST_F(Grid, HoldsTheFieldsOfRecords) {
  EXPECT_TRUE(becomes_grid("1,2\n3,4\n"));
  EXPECT_TRUE(becomes_grid("1,2"));
  EXPECT_TRUE(becomes_grid("1,2\r\n3,4\r\n5,\r\n"));
  EXPECT_TRUE(becomes_grid("1,2\r\n\"a\r\n\",4"));
  EXPECT_TRUE(becomes_grid(",\n,\n"));
  EXPECT_TRUE(becomes_grid("\"a,b\",\"c\"\"d\"\n\"\",\"two\nlines\"\nx,y\n"));
  EXPECT_TRUE(becomes_grid("a;b\n\"c;d\";e", {.delimiter = ';'}));
  EXPECT_TRUE(becomes_grid("\"a,b\nc,d\"\n", {.quote = '\0'}));
}

TEST_F(Grid, IsNotMadeOfWhatOnlyAWalkUnderstands) {
  EXPECT_FALSE(becomes_grid("1\n2,3\n"));
  EXPECT_FALSE(becomes_grid("1,2,3\n"));
  EXPECT_FALSE(becomes_grid("1,2,3\n4\n"));
  EXPECT_FALSE(becomes_grid("1\n2,3,4\n"));
  EXPECT_FALSE(becomes_grid("1,2\n\n3,4\n"));
  EXPECT_FALSE(becomes_grid("1,2\n\n3\n4,5\n"));
  EXPECT_FALSE(becomes_grid("1,2\n#\n3\n4,5\n", {.comment = '#'}));
  EXPECT_FALSE(becomes_grid("1,2\r\n3,4\n5,6\n"));
  EXPECT_FALSE(becomes_grid("1,2\n3,4\r\n5,6\n"));
  EXPECT_FALSE(becomes_grid("1,2\r\n3\r4,5\r\n"));
  EXPECT_FALSE(becomes_grid("1,2\n#a,b\n3,4\n", {.comment = '#'}));
  EXPECT_FALSE(becomes_grid("a\"b,c\n"));
}

TEST_F(Grid, LeavesDoubledQuotesAndTextBehindThemToAWalk) {
  std::string text = "\"a\"\"b\",\"c\"d\n\"\",\"e\"\n";
  std::vector<std::string_view> records;
  cut_csv(text, {}, records);
  CsvGrid grid({}, 2);
  ASSERT_TRUE(grid.find(records, text.data()));
  EXPECT_TRUE(grid.has_quotes());
  EXPECT_EQ(grid.text(0, 0), std::nullopt);
  EXPECT_EQ(grid.text(0, 1), std::nullopt);
  EXPECT_EQ(grid.field(0, 1), "\"c\"d");
  EXPECT_EQ(grid.text(1, 0), "");
  EXPECT_EQ(grid.text(1, 1), "e");
}

TEST_F(Grid, TakesAsManyRowsAsItHasRoomFor) {
  std::string text;
  for (int row = 0; row < 10'000; ++row) text += "1,2\n";
  std::vector<std::string_view> records;
  cut_csv(text, {}, records);
  CsvGrid grid({}, 2);
  size_t rows = 0;
  while (rows < records.size()) {
    ASSERT_TRUE(grid.find(std::span(records).subspan(rows), text.data()));
    ASSERT_GT(grid.rows(), 0U);
    EXPECT_EQ(grid.field(grid.rows() - 1, 1), "2");
    rows += grid.rows();
  }
  EXPECT_EQ(rows, records.size());
}

}  // namespace
}  // namespace stoker
