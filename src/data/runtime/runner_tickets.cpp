// How a runner takes tickets and opens the entries of its window.
#include "data/runtime/runner_state.h"

namespace stoker::data {

namespace {

constexpr int64_t kMostPerWork = 64;  // elements that share one entry of the window
constexpr int64_t kShareOfStage = 8;  // of the budget: what one inner stage may hold
constexpr size_t kMostAhead = 2048;   // delivered before a slow one: keeps a state below 64 KB

}  // namespace

// Elements of one entry: as many as make an entry worth its lock.
int64_t Runner::State::per_work() const {
  if (synchronous() || mean_part_ns <= 0) return 1;
  return std::clamp(kClaimNs / 2 / std::max<int64_t>(mean_part_ns, 1), int64_t(1),
                    std::min(kMostPerWork, most_ahead()));
}

// A stage inside of a chain leaves the budget to those that follow: nothing it holds could be
// given back before they have taken it.
int64_t Runner::State::most_ahead() const {
  if (!options.helps) return options.depth;
  if (budget->used() > budget->limit() / 8 * 7) return 1;  // caches take three quarters
  int64_t share = budget->limit() / kShareOfStage / std::max<int64_t>(element_bytes, 1);
  return std::clamp<int64_t>(share, 1, std::max<int64_t>(options.depth, 1));
}

bool Runner::State::has_room() const {
  size_t limit = synchronous() ? 1 : size_t(most_ahead());
  return in_window < limit && position.ahead.size() < kMostAhead;
}

// The next ticket. An error waits until those before it have been handed out.
bool Runner::State::next_ticket(Ticket& ticket, const Work& work) {
  try {
    return tickets->next(ticket);
  } catch (...) {
    if (work.tickets.empty()) throw;
    pending_error = std::current_exception();
    return false;
  }
}

// The next entry, or null when memory has to come back first; `regardless`: take it.
std::unique_ptr<Runner::Work> Runner::State::pull(int64_t most, bool regardless) {
  if (pending_error) std::rethrow_exception(pending_error);
  auto work = std::make_unique<Work>();
  work->epoch = epoch_pulled;
  work->number = number_pulled;
  Ticket ticket;
  while (int64_t(work->tickets.size()) < most && !kept_ticket && next_ticket(ticket, *work)) {
    if (!already.empty() && already.erase(number_pulled) > 0) {
      if (work->tickets.empty()) work->number = number_pulled + 1;
      ++number_pulled;
      if (!work->tickets.empty()) break;  // numbers of one entry follow each other
      continue;
    }
    ++number_pulled;
    work->tickets.push_back(std::move(ticket));
    ticket = {};
    if (work->tickets.size() == 1) {
      int64_t rows = maker->rows(work->tickets[0]);
      if (rows > 0) {
        work->by_rows = true;
        work->parts = rows;
        break;
      }
    }
  }
  if (kept_ticket) {
    work = std::move(kept_ticket);
  } else if (work->tickets.empty()) {
    work->epoch_end = true;
    return work;
  }
  if (work->by_rows) {
    if (!work->rows.open(spec, work->parts, *blocks, *budget, regardless)) {
      kept_ticket = std::move(work);
      return nullptr;
    }
  } else {
    work->parts = int64_t(work->tickets.size());
    work->elements.resize(size_t(work->parts));
  }
  work->made.resize(size_t(work->by_rows ? 1 : work->parts));
  return work;
}

// Opens one entry. False: nothing to open now.
bool Runner::State::open(std::unique_lock<std::mutex>& lock, bool regardless) {
  if (!can_open()) return false;
  pulling = true;
  int64_t most = per_work();
  lock.unlock();
  std::unique_ptr<Work> work;
  std::exception_ptr error;
  try {
    work = pull(most, regardless);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  pulling = false;
  starved = work == nullptr && !error;
  if (error) {
    work = std::make_unique<Work>();
    work->epoch = epoch_pulled;
    work->number = number_pulled;
    work->errors[0] = error;
    exhausted = true;
  } else if (work == nullptr) {
    return false;
  } else if (work->epoch_end) {
    end_epoch();
  }
  add(std::move(work));
  return true;
}

void Runner::State::begin_epoch(std::unique_lock<std::mutex>& lock) {
  pulling = true;
  new_epoch = false;
  int64_t epoch = epoch_pulled;
  lock.unlock();
  std::exception_ptr error;
  try {
    tickets->begin(epoch);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  pulling = false;
  if (!error) return;
  auto work = std::make_unique<Work>();
  work->epoch = epoch;
  work->errors[0] = error;
  exhausted = true;
  add(std::move(work));
}

void Runner::State::end_epoch() {
  ++epoch_pulled;
  number_pulled = 0;
  if (epochs_left > 0 && --epochs_left == 0)
    exhausted = true;
  else
    new_epoch = true;
}

void Runner::State::add(std::unique_ptr<Work> work) {
  in_window += places_of(*work);
  bool ready = work->complete();
  window.push_back(std::move(work));
  if (ready) arrived.notify_all();
}

}  // namespace stoker::data
