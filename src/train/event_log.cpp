#include "train/event_log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "formats/tensorboard_events.h"

namespace stoker {

namespace {

constexpr int64_t kFlushEvery = 1'000'000'000;  // nanoseconds: what a watching TensorBoard lags

std::string new_path(const std::string& directory) {
  static std::atomic<int> number = 0;
  return fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}.v2", directory,
                     int64_t(seconds_since_1970()), host_name(), getpid(), number++);
}

std::unique_ptr<FileWriter> create(const std::string& path, const std::string& directory,
                                   FileSystem& files) {
  files.create_directories(directory);
  return files.create(path, FileSystem::Write::replace);
}

}  // namespace

double seconds_since_1970() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

std::string host_name() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') return "localhost";
  return host.data();
}

EventLog::EventLog(const std::string& directory, FileSystem& files)
    : path_(new_path(directory)),
      file_(create(path_, directory, files)),
      records_(*file_),
      flushed_(steady_clock().now()),
      pool_(std::make_unique<ThreadPool>(
          ThreadPool::Options{.threads = 1, .queue_limit = kQueued, .name = "stoker-events"})) {
  add([] { return event_file_version(seconds_since_1970()); });
}

EventLog::~EventLog() {
  try {
    finish();
  } catch (const std::exception&) {  // flush() and finish() are there for who wants to know
  }
}

void EventLog::add(std::function<std::string()> make) {
  pool_->submit([this, make = std::move(make)] {
    if (failure_) return;
    try {
      records_.write(as_bytes(make()));
      int64_t now = steady_clock().now();
      if (now - flushed_ < kFlushEvery) return;
      records_.flush();
      flushed_ = now;
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

void EventLog::flush() {
  if (flushing_) std::exchange(flushing_, std::nullopt)->get();
  flushing_ = pool_->submit([this] {
    if (failure_) std::rethrow_exception(failure_);
    records_.flush();
    flushed_ = steady_clock().now();
  });
}

void EventLog::finish() {
  flush();
  std::exchange(flushing_, std::nullopt)->get();
}

}  // namespace stoker
