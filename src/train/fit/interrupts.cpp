#include "train/fit/interrupts.h"

#include <csignal>

#include <array>
#include <atomic>
#include <mutex>

namespace stoker {

namespace {

// Signals belong to the process, so what is known about them does too.
std::atomic<int> arrived = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a handler may not lock");

void remember(int signal) { arrived.store(signal); }

struct Handler {
  int signal;
  void (*action)(int) = remember;
  struct sigaction before = {};
  bool installed = false;
};

struct Handlers {
  std::mutex mutex;
  int users = 0;
  std::array<Handler, 4> list = {{{SIGINT}, {SIGTERM}, {SIGHUP}, {SIGXFSZ, SIG_IGN}}};
};

Handlers& handlers() {
  static Handlers all;
  return all;
}

void install(Handler& handler) {
  handler.installed = false;
  if (sigaction(handler.signal, nullptr, &handler.before) != 0) return;
  bool free = (handler.before.sa_flags & SA_SIGINFO) == 0 && handler.before.sa_handler == SIG_DFL;
  if (!free) return;  // the program's own, or ignored as nohup has it
  struct sigaction ours = {};
  ours.sa_handler = handler.action;
  ours.sa_flags = SA_RESTART | SA_RESETHAND;  // the second one does what it always did
  sigemptyset(&ours.sa_mask);
  handler.installed = sigaction(handler.signal, &ours, nullptr) == 0;
}

}  // namespace

Interrupts::Interrupts(bool install_handlers) : installed_(install_handlers) {
  if (!installed_) return;
  std::lock_guard lock(handlers().mutex);
  if (handlers().users++ > 0) return;
  arrived = 0;
  for (Handler& handler : handlers().list) install(handler);
}

Interrupts::~Interrupts() {
  if (!installed_) return;
  std::lock_guard lock(handlers().mutex);
  if (--handlers().users > 0) return;
  for (Handler& handler : handlers().list)
    if (handler.installed) sigaction(handler.signal, &handler.before, nullptr);
}

const char* signal_name(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

int Interrupts::pending() const { return installed_ ? arrived.load() : 0; }

}  // namespace stoker
