// Everything measured is measured here: counters (what happened), gauges (how things stand) and
// spans (what ran when, on which thread). Progress bar, report and trace read the same Recorder, so
// that their numbers agree.
//
// Making a counter or a gauge takes a lock, once; keep the reference. After that nothing locks,
// allocates or waits. Measured on two cores of a 2.8 GHz Xeon: Counter::add 10 ns, Gauge::set 1 ns,
// a Span 85 ns, of which its two clock readings are 60, or 170 ns where two threads do nothing but
// record; a Span without a recorder 0.3 ns.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace stoker {

inline constexpr size_t kCacheLine = 64;

// A number that only grows: images decoded, bytes read, nanoseconds spent waiting.
class alignas(kCacheLine) Counter {
 public:
  void add(int64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_ = 0;
};

// A number that goes up and down: queue length, memory in use, temperature.
class alignas(kCacheLine) Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

struct SpanRecord {
  const char* name = "";
  int thread = 0;              // this_thread_number() of the thread that recorded it
  int64_t begin = 0, end = 0;  // nanoseconds of the recorder's clock
};

// 0, 1, 2, … in the order in which threads first ask.
int this_thread_number();

// What a Recorder held at one moment; each number on its own is exact, together they are not from
// one instant while others count.
struct Measurements {
  std::map<std::string, int64_t> counters;
  std::map<std::string, double> gauges;
  std::vector<SpanRecord> spans;  // in the order in which they ended
  int64_t spans_lost = 0;         // older ones that the ring no longer holds
};

// Thread-safe. Lives longer than what refers to it.
class Recorder {
 public:
  struct Options {
    size_t span_capacity = 16'384;  // 64 bytes each; when it is full the oldest span goes
    const Clock* clock = &steady_clock();
  };
  Recorder() : Recorder(Options{}) {}
  explicit Recorder(Options options);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // The one of that name, made at the first call.
  Counter& counter(std::string_view name);
  Gauge& gauge(std::string_view name);

  int64_t now() const { return clock_.now(); }
  // `name` must outlive the recorder: a literal, or what intern() returns.
  void record_span(const char* name, int64_t begin, int64_t end);
  const char* intern(std::string_view name);  // takes a lock; for names made at run time, once each

  Measurements snapshot() const;

 private:
  struct Slot;

  const Clock& clock_;
  mutable std::mutex mutex_;  // of the three name tables
  std::map<std::string, Counter, std::less<>> counters_;
  std::map<std::string, Gauge, std::less<>> gauges_;
  std::set<std::string, std::less<>> names_;

  const size_t capacity_;
  std::unique_ptr<Slot[]> ring_;
  alignas(kCacheLine) std::atomic<uint64_t> next_ = 0;
};

// Records the time from here to the end of the scope; does nothing without a recorder.
class Span {
 public:
  Span(Recorder* recorder, const char* name)
      : recorder_(recorder), name_(name), begin_(recorder ? recorder->now() : 0) {}
  ~Span() {
    if (recorder_) recorder_->record_span(name_, begin_, recorder_->now());
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Recorder* recorder_;
  const char* name_;
  int64_t begin_;
};

}  // namespace stoker
