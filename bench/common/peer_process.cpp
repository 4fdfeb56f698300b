#include "common/peer_process.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include <stoker/error.h>

namespace stoker::bench {

std::string peers_python() {
  const char* venv = std::getenv("STOKER_PEERS_VENV");
  const char* home = std::getenv("HOME");
  std::string python =
      (venv != nullptr ? std::string(venv)
                       : std::string(home == nullptr ? "" : home) + "/.cache/stoker/peers") +
      "/bin/python";
  return std::filesystem::exists(python) ? python : "";
}

PeerProcess::PeerProcess(const std::string& folder, const std::string& script) {
  std::string python = peers_python(), fifo = folder + "/requests";
  if (python.empty()) return;
  if (::mkfifo(fifo.c_str(), 0600) != 0) throw FileError(fifo + ": cannot make a FIFO");
  std::string command = "'" + python + "' '" STOKER_BENCH_SOURCE_DIR "/" + script + "' '" + folder +
                        "' <'" + fifo + "' 2>/dev/null";
  answers_.reset(::popen(command.c_str(), "r"));
  if (answers_) requests_.reset(std::fopen(fifo.c_str(), "w"));
}

std::string PeerProcess::ask(const std::string& name) {
  if (!requests_) return "there is no peer";
  std::fprintf(requests_.get(), "%s\n", name.c_str());
  std::fflush(requests_.get());
  char line[512];
  if (std::fgets(line, sizeof line, answers_.get()) == nullptr) return "the peer has ended";
  std::string answer = line;
  while (answer.ends_with('\n')) answer.pop_back();
  return answer;
}

double PeerProcess::run(const std::string& name) {
  std::string answer = ask(name);
  if (!answer.starts_with(kDone)) throw Error(name + ": " + answer);
  return std::strtod(answer.c_str() + std::string_view(kDone).size(), nullptr);
}

}  // namespace stoker::bench
