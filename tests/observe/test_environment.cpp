#include <gtest/gtest.h>

#include "observe/environment.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

TEST(Environment, IsBadOnlyWithAdvice) {
  test::TempDir folder;
  for (const EnvironmentCheck& check : check_environment(folder.path())) {
    EXPECT_FALSE(check.found.empty()) << check.what;
    EXPECT_EQ(check.result == CheckResult::good, check.advice.empty()) << check.what;
  }
}

TEST(Environment, SaysThatAFolderCannotBeWritten) {
  std::vector<EnvironmentCheck> checks = check_environment("/nowhere");
  EXPECT_EQ(checks.back().what, "disk");
  EXPECT_EQ(checks.back().result, CheckResult::bad);
  EXPECT_NE(to_text(checks).find("BAD   disk"), std::string::npos) << to_text(checks);
}

}  // namespace
}  // namespace stoker
