#include "image/worker.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace stoker::bench {
namespace {

// The child's side; does not return.
void become(const std::vector<std::string>& command, int in, int out) {
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

}  // namespace

Worker::Worker(const std::vector<std::string>& command) {
  std::signal(SIGPIPE, SIG_IGN);  // a worker that died shows as an empty answer
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) return;
  process_ = fork();
  if (process_ == 0) become(command, down[0], up[1]);
  close(down[0]);
  close(up[1]);
  to_ = down[1];
  from_ = up[0];
  greeting_ = read_line();
  alive_ = !greeting_.empty();
}

Worker::~Worker() {
  if (process_ < 0) return;
  close(to_);
  close(from_);
  waitpid(process_, nullptr, 0);
}

std::string Worker::read_line() {
  for (;;) {
    size_t end = rest_.find('\n');
    if (end != std::string::npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    ssize_t count = read(from_, buffer, sizeof(buffer));
    if (count <= 0) return "";
    rest_.append(buffer, size_t(count));
  }
}

std::string Worker::ask(const std::string& line) {
  std::string text = line + "\n";
  if (!alive_ || write(to_, text.data(), text.size()) != ssize_t(text.size())) return "";
  return read_line();
}

}  // namespace stoker::bench
