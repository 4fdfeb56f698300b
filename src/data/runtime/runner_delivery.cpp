// How a consumer gets what a runner has made, and waits for it.
#include <fmt/format.h>

#include "base/clock.h"
#include "data/runtime/runner_state.h"
#include "data/runtime/slicing.h"

namespace stoker::data {

std::deque<std::unique_ptr<Runner::Work>>::iterator Runner::State::ready_work() {
  for (auto at = window.begin(); at != window.end(); ++at) {
    if (at == window.begin() && (*at)->complete()) return at;
    if ((*at)->epoch_end || options.ordered) break;
    if ((*at)->complete() && (*at)->errors.empty()) return at;
  }
  return window.end();
}

void Runner::State::pass(int64_t number) {
  if (!options.ordered) order.push_back(number);
  if (number == position.passed)
    ++position.passed;
  else
    position.ahead.insert(number);
  while (!position.ahead.empty() && *position.ahead.begin() == position.passed) {
    position.ahead.erase(position.ahead.begin());
    ++position.passed;
  }
}

void Runner::State::retire(const std::deque<std::unique_ptr<Work>>::iterator& at) {
  in_window -= places_of(**at);
  window.erase(at);
  // Waking a worker costs the consumer some microseconds: once for half a window, not each time.
  if (active > 0 || 2 * in_window <= size_t(options.depth)) schedule();
}

// True when there was an outcome; false: this entry has nothing more.
bool Runner::State::hand_over(Work& work, Batch& out, Made& made, std::exception_ptr& error) {
  if (work.parts == 0) fail_with(work.error_of(0));
  while (work.delivered < work.outcomes()) {
    int64_t part = work.delivered++;
    error = work.error_of(part);
    if (error && !options.hands_errors_on) fail_with(error);
    made = error ? Made{work.epoch, work.number + part} : work.made[size_t(part)];
    pass(work.number + part);
    if (error) return true;
    if (!made.kept && options.keeps_dropped)
      out = empty_batch(spec);
    else if (!made.kept)
      continue;
    else if (work.by_rows) {
      made = maker->name_of(work.tickets[0]);
      bool none = int64_t(work.dropped.size()) == work.parts;
      out = none ? without_rows(work.tickets[0]) : work.rows.take(work.dropped);
    } else {
      out = std::move(work.elements[size_t(part)]);
    }
    return true;
  }
  return false;
}

// All rows were dropped: the maker knows their shape by others, where there are any.
Batch Runner::State::without_rows(const Ticket& ticket) {
  if (!consumer_worker) consumer_worker = take_worker();
  try {
    TensorWriter element(spec, *blocks);
    maker->make(ticket, element, *consumer_worker);
    return element.take();
  } catch (const Error&) {
    return empty_batch(spec);
  }
}

void Runner::State::fail_with(const std::exception_ptr& error) {
  failed = error;
  std::rethrow_exception(error);
}

Runner::Outcome Runner::State::next(Batch& out, Made& made, std::exception_ptr& error) {
  std::unique_lock lock(mutex);
  if (failed) std::rethrow_exception(failed);
  while (true) {
    auto at = ready_work();
    if (at == window.end()) {
      if (exhausted && window.empty()) return Outcome::finished;
      wait(lock);
      continue;
    }
    Work& work = **at;
    if (work.epoch_end) {
      position = {work.epoch + 1, 0, {}};
      order.clear();
      retire(at);
      return exhausted && window.empty() ? Outcome::finished : Outcome::epoch_end;
    }
    bool filled = hand_over(work, out, made, error);
    if (work.delivered >= work.outcomes()) retire(at);
    if (!filled) continue;
    stats.delivered.add();
    return Outcome::element;
  }
}

// Until something has changed that may let the consumer go on.
void Runner::State::wait(std::unique_lock<std::mutex>& lock) {
  if (synchronous() || options.helps) {
    if (make_oneself(lock)) return;
    if (ready_work() != window.end() || (exhausted && window.empty())) return;
    // Whoever asks holds what others wait for: one entry is always allowed.
    if (options.helps && starved && idle() && open(lock, /*regardless=*/true)) return;
  } else if (starved && idle() && open(lock)) {
    schedule();  // what the consumer let go of was enough
    return;
  }
  if (starved && idle()) throw_starved();
  schedule();
  int64_t begin = steady_clock().now();
  arrived.wait(lock);
  stats.waited.add();
  stats.wait_ns.add(steady_clock().now() - begin);
}

// The consumer makes what it waits for. Without workers that is waiting, too: nothing else runs
// meanwhile.
bool Runner::State::make_oneself(std::unique_lock<std::mutex>& lock) {
  bool counts = synchronous() && !options.helps;
  int64_t begin = counts ? steady_clock().now() : 0;
  Claim part;
  if (!claim(lock, part)) return false;
  if (!consumer_worker) consumer_worker = take_worker();
  schedule();
  run(lock, part, *consumer_worker);
  if (counts) {
    stats.waited.add();
    stats.wait_ns.add(steady_clock().now() - begin);
  }
  return true;
}

void Runner::State::throw_starved() const {
  throw Error(fmt::format(
      "{}: the byte budget is full: {} of {} bytes are held by batches that the consumer keeps, "
      "by shuffle buffers and by caches, and the next batch does not fit; keep fewer batches, or "
      "raise the budget with with_budget({{.bytes = …}})",
      options.title, budget->used(), budget->limit()));
}

}  // namespace stoker::data
