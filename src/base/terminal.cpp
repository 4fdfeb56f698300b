#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include <stoker/context.h>

namespace stoker {

namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): read only
  return value != nullptr && *value != '\0';
}

bool is_dumb() {
  const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  return term == nullptr || std::string_view(term) == "dumb";
}

}  // namespace

Terminal terminal_of(const std::ostream* out) {
  Terminal terminal;
  if (out == nullptr || out != standard_output() || isatty(STDOUT_FILENO) == 0) return terminal;
  if (is_dumb()) return terminal;
  terminal.live = true;
  terminal.colour = !is_set("NO_COLOR");
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.width = int(size.ws_col);
  return terminal;
}

}  // namespace stoker
