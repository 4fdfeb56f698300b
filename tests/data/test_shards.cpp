// save and load.
#include <gtest/gtest.h>

#include "elements.h"
#include "support/temp_dir.h"

namespace stoker::data {
namespace {

Dataset pairs() {
  return range(10).map([](int64_t x) { return std::tuple(x * x, std::to_string(x)); });
}

TEST(Shards, GiveBackWhatWasSaved) {
  test::TempDir folder;
  EXPECT_EQ(pairs().save(folder / "shards"), 10);
  Dataset loaded = load(folder / "shards");
  EXPECT_TRUE(loaded.random_access());
  EXPECT_EQ(loaded.spec(), pairs().spec());
  std::vector<Batch> elements = all_of(loaded.batch(4));
  ASSERT_EQ(elements.size(), 3U);
  EXPECT_EQ(elements[2][0], Tensor::from<int64_t>({64, 81}, {2}));
  EXPECT_EQ(elements[2][1].data<std::string>()[1], "9");
  EXPECT_THROW(range(3).repeat().save(folder / "endless"), ValueError);
  EXPECT_THROW(load(folder / "nothing"), FileError);
}

}  // namespace
}  // namespace stoker::data
