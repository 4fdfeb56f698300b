// How the workers of a runner share what is to be made.
#include "base/clock.h"
#include "base/thread_time.h"
#include "base/tracing.h"
#include "data/runtime/runner_state.h"

namespace stoker::data {

namespace {

constexpr int64_t kMostClaimNs = 4 * kClaimNs;
constexpr int kSpins = 500;  // pauses for which a worker looks for tickets to come

}  // namespace

bool Runner::State::claim(std::unique_lock<std::mutex>& lock, Claim& out) {
  while (true) {
    if (stopping) return false;
    if (!window.empty() && window.back()->claimed < window.back()->parts) {
      Work& work = *window.back();
      out = {&work, work.claimed, std::min(work.parts, work.claimed + claim_size(work))};
      work.claimed = out.end;
      return true;
    }
    if (new_epoch && can_open()) begin_epoch(lock);
    if (!open(lock) && !see_end_of_pull(lock)) return false;
  }
}

// Waits while another worker takes tickets. That is mostly done at once, and a worker that leaves has
// to be woken again: with equal elements, where workers meet here every time, 425 instead of 603
// batches/s (16 elements of 200 us each, two workers on two cores).
bool Runner::State::see_end_of_pull(std::unique_lock<std::mutex>& lock) {
  if (!pulling || synchronous()) return false;
  lock.unlock();
  for (int i = 0; i < kSpins && pulling.load(std::memory_order_relaxed); ++i)
    __builtin_ia32_pause();
  lock.lock();
  return !pulling;
}

int64_t Runner::State::claim_size(const Work& work) const {
  if (synchronous()) return work.parts;
  if (mean_part_ns <= 0) return 1;
  // Cheap rows: each worker takes its share at once, for a claim costs a lock, two readings of the
  // thread's clock and, of files, a read of its own (1,200 instead of 3,400 for 400,000 rows of CSV). Of
  // very cheap ones it takes a batch, where the others have batches of their own.
  int64_t most = kMostClaimNs / std::max<int64_t>(mean_part_ns, 1);
  if (work.parts <= most && options.workers <= most_ahead()) return work.parts;
  int64_t fair = (work.parts + options.workers - 1) / options.workers;
  return std::clamp(most, int64_t(1), std::max<int64_t>(fair, 1));
}

int64_t Runner::State::make_runs(Work& work, int64_t begin, int64_t end, Worker& worker) const {
  int64_t part = begin, made = 1;
  while (made > 0 && part < end && !stop_now.load(std::memory_order_relaxed)) {
    RowWriter first(work.rows, part);
    made = maker->make_row_run(work.tickets[0], part, end, first, worker);
    part += made;
  }
  return part - begin;
}

void Runner::State::make(const Claim& claim, Worker& worker) {
  Work& work = *claim.work;
  for (int64_t part = claim.begin; part < claim.end; ++part) {
    if (stop_now.load(std::memory_order_relaxed)) return;
    try {
      if (work.by_rows) {
        part += make_runs(work, part, claim.end, worker);
        if (part == claim.end) return;
        RowWriter row(work.rows, part);
        maker->hint_row(work.tickets[0], part + kRowsAhead);
        if (!maker->make_row(work.tickets[0], part, row, worker).kept) {
          std::lock_guard lock(mutex);
          work.dropped.insert(part);
        }
      } else {
        TensorWriter element(spec, *blocks);
        work.made[size_t(part)] = maker->make(work.tickets[size_t(part)], element, worker);
        if (work.made[size_t(part)].kept) work.elements[size_t(part)] = element.take();
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      work.errors[part] = std::current_exception();
      if (work.by_rows || !options.hands_errors_on) return;
    }
  }
}

void Runner::State::run(std::unique_lock<std::mutex>& lock, const Claim& claim, Worker& worker) {
  bool measure_cpu = !synchronous();
  lock.unlock();
  RangeScope range(stats.name);
  int64_t cpu = measure_cpu ? thread_cpu_ns() : 0, begin = steady_clock().now();
  make(claim, worker);
  int64_t ns = steady_clock().now() - begin;
  int64_t count = claim.end - claim.begin;
  stats.busy_ns.add(ns);
  trace_span(stats.name, begin, begin + ns);
  if (measure_cpu) stats.cpu_ns.add(thread_cpu_ns() - cpu);
  stats.items.add(count);
  lock.lock();
  int64_t mean = std::max<int64_t>(ns / count, 1);
  mean_part_ns = mean_part_ns <= 0 ? mean : (mean_part_ns * 7 + mean) / 8;
  claim.work->done += count;
  if (!claim.work->complete()) return;
  if (options.ordered ? window.front().get() == claim.work : true) arrived.notify_one();
}

std::unique_ptr<Worker> Runner::State::take_worker() {
  if (idle_workers.empty()) return std::make_unique<Worker>(budget.get());
  std::unique_ptr<Worker> worker = std::move(idle_workers.back());
  idle_workers.pop_back();
  return worker;
}

void Runner::State::work() {
  std::unique_lock lock(mutex);
  --queued;
  if (stopping || active >= options.workers) return;
  ++active;
  std::unique_ptr<Worker> worker = take_worker();
  Claim part;
  while (active <= options.workers && claim(lock, part)) {
    schedule();
    run(lock, part, *worker);
  }
  idle_workers.push_back(std::move(worker));
  --active;
  if (stopping || starved) arrived.notify_all();
}

// Calls workers while there is something for one more.
void Runner::State::schedule() {
  if (synchronous() || stopping) return;
  bool unclaimed = !window.empty() && window.back()->claimed < window.back()->parts;
  if (!unclaimed && !can_open()) return;
  if (active + queued >= options.workers || queued > 0) return;
  ++queued;
  pool->submit([self = shared_from_this()] { self->work(); });
}

}  // namespace stoker::data
