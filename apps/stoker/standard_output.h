// A checked std::cout: remembers whether all output has arrived and, if not, why. Lost output (a full
// disk, a closed descriptor) makes the command fail.
#pragma once

#include <array>
#include <streambuf>

namespace stoker::app {

class StandardOutput final : public std::streambuf {
 public:
  StandardOutput();  // std::cout goes through it from now on
  ~StandardOutput() override;
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // Flushes; the errno of the first write that failed, 0: none has.
  int finish();

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  bool write_out();

  std::streambuf* before_;
  std::array<char, 8192> buffer_;
  int error_ = 0;
};

}  // namespace stoker::app
