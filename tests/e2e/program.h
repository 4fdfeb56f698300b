// Runs the built `stoker` program as people do.
#pragma once

#include <string>

namespace stoker::test {

struct Ended {
  int status = -1;  // exit status; 128 + signal as shells have it
  std::string out, err;
};
// `arguments` as a shell reads them. Skips nothing: the build makes the program before the tests.
Ended run_stoker(const std::string& arguments);

}  // namespace stoker::test
