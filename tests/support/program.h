// Runs a built program as people do.
#pragma once

#include <string>

namespace stoker::test {

struct Ended {
  int status = -1;  // exit status; 128 + signal as shells have it
  std::string out, err;
};
// `arguments` as a shell reads them.
Ended run_program(const std::string& program, const std::string& arguments);

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

#ifdef STOKER_PROGRAM
// The command line itself. Skips nothing: the build makes the program before the tests.
inline Ended run_stoker(const std::string& arguments) {
  return run_program(STOKER_PROGRAM, arguments);
}
#endif

}  // namespace stoker::test
