#include "fault/training.h"

namespace stoker {
namespace {

TEST(Kill, SixtyChangeNothing) { test::expect_kills_change_nothing(60, 1); }

TEST(Kill, TheNumberOfPipelineThreadsChangesNothing) {
  test::TempDir one, four;
  test::Job first{.directory = one.path().string(), .pipeline_threads = 1};
  test::Job second{.directory = four.path().string(), .pipeline_threads = 4};
  test::run(first);
  test::run(second);
  EXPECT_NE(test::result_of(first), "");
  EXPECT_EQ(test::result_of(first), test::result_of(second));
}

}  // namespace
}  // namespace stoker
