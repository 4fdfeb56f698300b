#include "support/program.h"

#include <sys/wait.h>
#include <cstdlib>

#include "base/file.h"
#include "support/temp_dir.h"

namespace stoker::test {

Ended run_program(const std::string& program, const std::string& arguments) {
  TempDir folder;
  std::string out = folder / "out", err = folder / "err";
  std::string command = program + " " + arguments + " >" + out + " 2>" + err;
  int status = std::system(command.c_str());  // NOLINT(cert-env33-c): that is the test
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = read_text(out),
          .err = read_text(err)};
}

}  // namespace stoker::test
