#include "standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

namespace stoker::app {

namespace {

// A closed descriptor would become that of the next file, and progress would go into a checkpoint.
void keep_open(int descriptor) {
  if (::fcntl(descriptor, F_GETFD) >= 0) return;
  int other = ::open("/dev/null", O_RDONLY);  // writing to it fails, as it does to a closed one
  if (other >= 0 && other != descriptor) {
    ::dup2(other, descriptor);
    ::close(other);
  }
}

}  // namespace

StandardOutput::StandardOutput() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) keep_open(descriptor);
  if (::isatty(STDOUT_FILENO) != 0) std::cout << std::unitbuf;  // lines are watched as they come
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  before_ = std::cout.rdbuf(this);
}

StandardOutput::~StandardOutput() {
  write_out();
  std::cout.rdbuf(before_);
}

int StandardOutput::finish() {
  write_out();
  return error_;
}

StandardOutput::int_type StandardOutput::overflow(int_type character) {
  if (!write_out()) return traits_type::eof();
  if (traits_type::eq_int_type(character, traits_type::eof())) return 0;
  *pptr() = traits_type::to_char_type(character);
  pbump(1);
  return character;
}

int StandardOutput::sync() { return write_out() ? 0 : -1; }

bool StandardOutput::write_out() {
  for (const char* begin = pbase(); begin < pptr() && error_ == 0;) {
    ssize_t count = ::write(STDOUT_FILENO, begin, size_t(pptr() - begin));
    if (count >= 0)
      begin += count;
    else if (errno != EINTR)
      error_ = errno;
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return error_ == 0;
}

}  // namespace stoker::app
