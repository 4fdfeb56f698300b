#include "support/peer_python.h"

#include <cstdlib>
#include <filesystem>

#include "support/program.h"

namespace stoker::test {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string peer_python() {
  std::string venv = variable("STOKER_PEERS_VENV"), cache = variable("XDG_CACHE_HOME");
  if (cache.empty()) cache = variable("HOME") + "/.cache";
  if (venv.empty()) venv = cache + "/stoker/peers";
  return venv + "/bin/python";
}

}  // namespace

std::string PeerResult::last_line() const {
  size_t end = output.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  size_t begin = output.rfind('\n', end);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return output.substr(begin, end + 1 - begin);
}

PeerResult run_peer(const std::string& script, const std::string& argument) {
  constexpr int kSkipped = 77;
  std::string python = peer_python();
  if (!std::filesystem::exists(python))
    return {.skipped = true, .output = "no " + python + "; scripts/peers-setup.sh makes it"};
  std::string path = std::string(STOKER_TEST_SOURCE_DIR) + "/" + script;
  Ended ended = run_program("'" + python + "'", "'" + path + "' '" + argument + "'");
  return {
      .skipped = ended.status == kSkipped, .code = ended.status, .output = ended.err + ended.out};
}

}  // namespace stoker::test
