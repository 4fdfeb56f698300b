// Python with the packages of other projects (scripts/peers-setup.sh), for tests against the real
// thing.
#pragma once

#include <string>

#include "support/packages.h"

namespace stoker::test {

struct PeerResult {
  bool skipped = false;  // no such Python, or the script found a package missing (exit code 77)
  int code = 0;
  std::string output;  // standard error, then standard output; why it was skipped

  std::string last_line() const;  // where a script prints its result behind warnings of others
};

// Runs tests/`script` with one argument.
PeerResult run_peer(const std::string& script, const std::string& argument);

}  // namespace stoker::test

// Runs it in a test: skips with the reason, fails with what it printed, and shows it otherwise.
#define STOKER_EXPECT_PEER(script, argument)                                             \
  do {                                                                                   \
    ::stoker::test::PeerResult peer_result = ::stoker::test::run_peer(script, argument); \
    if (peer_result.skipped) STOKER_SKIP_WITHOUT_PACKAGE(peer_result.output);            \
    EXPECT_EQ(peer_result.code, 0) << peer_result.output;                                \
    std::cout << peer_result.output;                                                     \
  } while (false)
