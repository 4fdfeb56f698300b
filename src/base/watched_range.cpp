#include "base/watched_range.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <type_traits>

#include <fmt/format.h>

#include "base/printable.h"

namespace stoker {

namespace {

// `begin` is written last and cleared first: the handler sees whole entries.
struct Entry {
  std::atomic<uintptr_t> begin = 0;  // 0: free
  std::atomic<uintptr_t> end = 0;
  std::atomic<const char*> line = nullptr;
  std::atomic<size_t> length = 0;
};
static_assert(std::atomic<uintptr_t>::is_always_lock_free, "a handler may not lock");

struct Table {
  std::mutex mutex;
  int used = 0;
  bool installed = false;
  struct sigaction before = {};
  std::array<Entry, 4096> entries;
};

// Mapped ranges and signals belong to the process. Never destroyed: a handler may run while the
// process ends.
constinit Table watched;
static_assert(std::is_trivially_destructible_v<Table>);

void name_the_file(const siginfo_t& info) {
  auto address = reinterpret_cast<uintptr_t>(info.si_addr);
  for (Entry& entry : watched.entries) {
    uintptr_t begin = entry.begin.load();
    if (begin == 0 || address < begin || address >= entry.end.load()) continue;
    [[maybe_unused]] auto written = ::write(STDERR_FILENO, entry.line.load(), entry.length.load());
    return;
  }
}

// The fault repeats when the handler returns, and then ends as it would have without us.
void on_bus_error(int signal, siginfo_t* info, void*) {
  name_the_file(*info);
  sigaction(signal, &watched.before, nullptr);
  if (info->si_code <= 0) raise(signal);  // sent by a process: nothing repeats
}

void install() {
  struct sigaction ours = {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO;
  sigemptyset(&ours.sa_mask);
  watched.installed =
      sigaction(SIGBUS, nullptr, &watched.before) == 0 && sigaction(SIGBUS, &ours, nullptr) == 0;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_bus_error;
}

// A handler that the program installed meanwhile stays.
void uninstall() {
  struct sigaction now = {};
  if (watched.installed && sigaction(SIGBUS, nullptr, &now) == 0 && is_ours(now))
    sigaction(SIGBUS, &watched.before, nullptr);
  watched.installed = false;
}

int free_place() {
  for (size_t place = 0; place < watched.entries.size(); ++place)
    if (watched.entries[place].begin.load() == 0) return int(place);
  return -1;
}

}  // namespace

WatchedRange::WatchedRange(std::span<const std::byte> bytes, const std::string& path)
    : line_(fmt::format("stoker: {}: it was cut off, or its disk failed, while it was mapped: read "
                        "it without mapping, or do not change it under a run\n",
                        printable(path))) {
  if (bytes.empty()) return;
  std::lock_guard lock(watched.mutex);
  place_ = free_place();
  if (place_ < 0) return;
  Entry& entry = watched.entries[size_t(place_)];
  auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  entry.end = begin + bytes.size();
  entry.line = line_.data();
  entry.length = line_.size();
  entry.begin = begin;
  if (watched.used++ == 0) install();
}

WatchedRange::~WatchedRange() {
  if (place_ < 0) return;
  std::lock_guard lock(watched.mutex);
  watched.entries[size_t(place_)].begin = 0;
  if (--watched.used == 0) uninstall();
}

}  // namespace stoker
