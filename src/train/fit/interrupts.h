// SIGINT, SIGTERM and SIGHUP as a flag to poll: while an object of this class exists, the first such
// signal is remembered instead of ending the process; a second one ends it. SIGXFSZ is ignored
// meanwhile: a file that grows beyond `ulimit -f` is then a FileError. Handlers are installed only
// where the program has none, and the previous ones are restored with the last object. Thread-safe.
// What follows a signal, in order: docs/design/010, "Signals".
#pragma once

namespace stoker {

class Interrupts {
 public:
  explicit Interrupts(bool install);  // false: nothing is ever pending
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int pending() const;  // the signal's number; 0: none has arrived

 private:
  bool installed_;
};

// "SIGINT" and the like.
const char* signal_name(int signal);

}  // namespace stoker
