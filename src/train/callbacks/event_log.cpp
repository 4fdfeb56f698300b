#include "train/callbacks/event_log.h"

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
    : directory_(directory),
      path_(new_path(directory)),
      files_(files),
      flushed_(steady_clock().now()),
      pool_(std::make_unique<ThreadPool>(
          ThreadPool::Options{.threads = 1, .queue_limit = kQueued, .name = "stoker-events"})) {}

EventLog::~EventLog() {
  try {
    finish();
  } catch (const std::exception&) {  // flush() and finish() are there for who wants to know
  }
}

void EventLog::add(std::function<std::string()> make) {
  pool_->submit([this, make = std::move(make)] {
    records_.write(as_bytes(make()));
    if (steady_clock().now() - flushed_ < kFlushEvery) return;
    try {
      bring();
    } catch (const FileError&) {  // flush() tries again, and reports it
    }
  });
}

void EventLog::bring() {
  flushed_ = steady_clock().now();
  records_.flush();
  if (pending_.bytes.empty() && files_made_ > 0) return;
  try {
    if (file_ == nullptr) open();
    file_->write(pending_.bytes);
  } catch (const FileError&) {
    give_up_file();
    if (pending_.bytes.size() <= kMostPending) throw;
    pending_.bytes.clear();
    throw FileError(fmt::format("{}: more than {} MB wait for the disk: they are dropped",
                                directory_, kMostPending >> 20));
  }
  holds_events_ = true;
  pending_.bytes.clear();
}

// Every file begins with the version.
void EventLog::open() {
  file_path_ = files_made_ == 0 ? path_ : new_path(directory_);
  files_.create_directories(directory_);
  file_ = files_.create(file_path_, FileSystem::Write::replace);
  ++files_made_;
  holds_events_ = false;
  TFRecordWriter version(*file_);
  version.write(as_bytes(event_file_version(seconds_since_1970())));
  version.flush();
}

void EventLog::give_up_file() {
  if (file_ == nullptr) return;
  file_.reset();
  if (holds_events_) return;
  try {
    files_.remove(file_path_);
  } catch (const FileError&) {
    // The failure that led here is the one to report.
  }
}

void EventLog::flush() {
  std::optional<Future<void>> before = std::exchange(flushing_, pool_->submit([this] { bring(); }));
  if (before) before->get();
}

void EventLog::finish() {
  if (flushing_) {
    try {
      std::exchange(flushing_, std::nullopt)->get();
    } catch (const FileError&) {
      // Tried again now.
    }
  }
  pool_->submit([this] { bring(); }).get();
}

}  // namespace stoker
