// Another program that answers each line with a line.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace stoker::bench {

class Worker {
 public:
  // Starts it; its standard error goes nowhere. alive() is false when it does not come up.
  explicit Worker(const std::vector<std::string>& command);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool alive() const { return alive_; }
  const std::string& greeting() const { return greeting_; }
  // Empty when it has ended.
  std::string ask(const std::string& line);

 private:
  std::string read_line();

  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  bool alive_ = false;
  std::string greeting_, rest_;
};

}  // namespace stoker::bench
