#include "base/counters.h"

#include <algorithm>

#include <stoker/error.h>

namespace stoker {

// One span of the ring, guarded by its own sequence number: odd while it is written, 2 * (ticket +
// 1) when it holds the span of that ticket. Fields are stored with release and loaded with acquire,
// so that a reader who saw a field of a later span also sees the later sequence number, and
// discards what it read.
struct alignas(kCacheLine) Recorder::Slot {
  std::atomic<uint64_t> sequence = 0;
  std::atomic<const char*> name = nullptr;
  std::atomic<int> thread = 0;
  std::atomic<int64_t> begin = 0, end = 0;

  void write(uint64_t ticket, const SpanRecord& span) {
    uint64_t before = sequence.load(std::memory_order_relaxed);
    // One who is a whole ring behind still writes here, or one ahead already has: this span is
    // lost.
    if (before % 2 == 1 || before > 2 * ticket) return;
    if (!sequence.compare_exchange_strong(before, 2 * ticket + 1, std::memory_order_acquire))
      return;
    name.store(span.name, std::memory_order_release);
    thread.store(span.thread, std::memory_order_release);
    begin.store(span.begin, std::memory_order_release);
    end.store(span.end, std::memory_order_release);
    sequence.store(2 * ticket + 2, std::memory_order_release);
  }

  bool read(uint64_t ticket, SpanRecord& span) const {
    if (sequence.load(std::memory_order_acquire) != 2 * ticket + 2) return false;
    span = {name.load(std::memory_order_acquire), thread.load(std::memory_order_acquire),
            begin.load(std::memory_order_acquire), end.load(std::memory_order_acquire)};
    return sequence.load(std::memory_order_relaxed) == 2 * ticket + 2;
  }
};

int this_thread_number() {
  static std::atomic<int> count = 0;
  thread_local const int number = count++;
  return number;
}

Recorder::Recorder(Options options) : clock_(*options.clock), capacity_(options.span_capacity) {
  if (capacity_ == 0) throw ValueError("Recorder: expected room for one span at least, got 0");
  ring_ = std::make_unique<Slot[]>(capacity_);
}

Recorder::~Recorder() = default;

Counter& Recorder::counter(std::string_view name) {
  std::lock_guard lock(mutex_);
  return counters_.try_emplace(std::string(name)).first->second;
}

Gauge& Recorder::gauge(std::string_view name) {
  std::lock_guard lock(mutex_);
  return gauges_.try_emplace(std::string(name)).first->second;
}

const char* Recorder::intern(std::string_view name) {
  std::lock_guard lock(mutex_);
  return names_.emplace(name).first->c_str();
}

void Recorder::record_span(const char* name, int64_t begin, int64_t end) {
  uint64_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
  ring_[ticket % capacity_].write(ticket, {name, this_thread_number(), begin, end});
}

Measurements Recorder::snapshot() const {
  Measurements result;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, counter] : counters_) result.counters[name] = counter.value();
    for (const auto& [name, gauge] : gauges_) result.gauges[name] = gauge.value();
  }
  uint64_t end = next_.load(std::memory_order_acquire);
  uint64_t begin = end - std::min<uint64_t>(end, capacity_);
  result.spans.reserve(size_t(end - begin));
  for (uint64_t ticket = begin; ticket < end; ++ticket) {
    SpanRecord span;
    if (ring_[ticket % capacity_].read(ticket, span)) result.spans.push_back(span);
  }
  result.spans_lost = int64_t(end - result.spans.size());
  return result;
}

}  // namespace stoker
