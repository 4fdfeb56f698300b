// Tests that need a package of another project skip themselves where it is missing. Where the
// environment says that every package which can be had is there (STOKER_REQUIRE_PACKAGES=1, as
// .ci/run does), a missing one is a failure instead.
#pragma once

#include <cstdlib>

#include <gtest/gtest.h>

namespace stoker::test {

inline bool packages_are_required() {
  const char* value = std::getenv("STOKER_REQUIRE_PACKAGES");
  return value != nullptr && value[0] == '1';
}

}  // namespace stoker::test

#define STOKER_SKIP_WITHOUT_PACKAGE(reason)                                               \
  do {                                                                                    \
    if (::stoker::test::packages_are_required())                                          \
      FAIL() << "STOKER_REQUIRE_PACKAGES is set, but a package is missing: " << (reason); \
    GTEST_SKIP() << (reason);                                                             \
  } while (false)
