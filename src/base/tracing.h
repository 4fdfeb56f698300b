// The trace that is being taken, if one is: every room may say what it did and when, on the lane of
// the thread that says it. Without a trace that costs one relaxed load.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/counters.h"
#include "base/hook.h"

namespace stoker {

// Spans of all threads, the latest of them, and what the threads are called. Thread-safe.
class Trace {
 public:
  explicit Trace(size_t capacity) : recorder_({.span_capacity = capacity}) {}

  // Nanoseconds of steady_clock(). The name is kept here.
  void add(std::string_view name, int64_t begin, int64_t end);
  Measurements snapshot() const { return recorder_.snapshot(); }
  std::map<int, std::string> thread_names() const;  // by this_thread_number()

 private:
  Recorder recorder_;
  mutable std::mutex mutex_;
  std::map<int, std::string> threads_;
};

inline Hook<Trace>& active_trace() {
  static constinit Hook<Trace> hook;
  return hook;
}

inline bool tracing() { return !active_trace().empty(); }

inline void trace_span(std::string_view name, int64_t begin, int64_t end) {
  if (std::shared_ptr<Trace> trace = active_trace().get()) trace->add(name, begin, end);
}

// Named ranges for tools from outside, such as Nsight Systems: profiler::emit_ranges() fills it.
// Ranges of a thread are nested. Thread-safe.
class RangeSink {
 public:
  virtual ~RangeSink() = default;
  virtual void push(const char* name) = 0;
  virtual void pop() = 0;
};

inline Hook<RangeSink>& active_ranges() {
  static constinit Hook<RangeSink> hook;
  return hook;
}

// A range of the calling thread, to the end of the scope.
class RangeScope {
 public:
  explicit RangeScope(std::string_view name) : sink_(active_ranges().get()) {
    if (sink_) sink_->push(std::string(name).c_str());
  }
  ~RangeScope() {
    if (sink_) sink_->pop();
  }
  RangeScope(const RangeScope&) = delete;
  RangeScope& operator=(const RangeScope&) = delete;

 private:
  std::shared_ptr<RangeSink> sink_;
};

// Both, from here to the end of the scope. The name outlives it.
class TraceScope {
 public:
  explicit TraceScope(std::string_view name)
      : range_(name), name_(name), begin_(tracing() ? steady_clock().now() : -1) {}
  ~TraceScope() {
    if (begin_ >= 0) trace_span(name_, begin_, steady_clock().now());
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  RangeScope range_;
  std::string_view name_;
  int64_t begin_;
};

}  // namespace stoker
