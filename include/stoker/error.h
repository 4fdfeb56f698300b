// Errors of Stoker. Everything that goes wrong arrives as an exception derived from Error whose
// text says what was attempted, what was received, what was expected, where, and, if known, what
// to do. Nothing in the library prints, exits or aborts.
#pragma once

#include <stdexcept>
#include <string>

namespace stoker {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A shape or dtype that an op, layer or dataset cannot take.
class ShapeError : public Error {
 public:
  using Error::Error;
};

// A name, option or value that does not exist or is out of range.
class ValueError : public Error {
 public:
  using Error::Error;
};

// A file that is missing, truncated, corrupt or cannot be written; the text begins with its path.
class FileError : public Error {
 public:
  using Error::Error;
};

// The loss became NaN or infinite; the text names the step, the layer and the first bad op.
class NonFiniteError : public Error {
 public:
  using Error::Error;
};

// A device, or its Context::memory_limit, cannot hold a program. The text lists what needs and what
// holds how much, and names the batch size that fits.
class OutOfMemoryError : public Error {
 public:
  explicit OutOfMemoryError(const std::string& needs) : OutOfMemoryError(needs, "") {}
  // `advice`: which batch would fit; empty: not known.
  OutOfMemoryError(const std::string& needs, const std::string& advice)
      : Error(advice.empty() ? needs : needs + " " + advice), needs_(needs) {}
  const std::string& needs() const { return needs_; }  // the text without the advice

 private:
  std::string needs_;
};

// SIGINT, SIGTERM or SIGHUP ended a fit with a BackupAndRestore, after a checkpoint was saved; the
// text says how to resume. For main(): return error.exit_code();
class Interrupted : public Error {
 public:
  // signal: 0 if the program itself ended the fit.
  Interrupted(const std::string& text, int signal) : Error(text), signal_(signal) {}
  int signal() const { return signal_; }
  int exit_code() const { return 128 + signal_; }  // as shells have it: 130, 143, 129

 private:
  int signal_;
};

}  // namespace stoker
