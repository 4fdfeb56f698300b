#include "distribute/mpi/sum_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stoker::distribute::mpi {

namespace {

constexpr int kMostLooks = 16;
constexpr std::chrono::microseconds kIdleLook{4};  // a look that finds nothing takes one or two

// Whether a message has come or gone. A look reads one fragment of one message at most; one that took
// long has moved bytes, and there may be more.
bool look(Requests& requests) {
  bool moved = false;
  SumQueue::Clock::time_point now = SumQueue::Clock::now();
  for (int looks = 0; looks < kMostLooks; ++looks) {
    bool more = requests.advance();
    moved = moved || more;
    SumQueue::Clock::time_point begun = std::exchange(now, SumQueue::Clock::now());
    if (!more && now - begun < kIdleLook) break;
  }
  return moved;
}

}  // namespace

void SumQueue::add(std::deque<Sum>& sums) {
  std::ranges::move(sums, std::back_inserter(next_));
  sums.clear();
}

int64_t SumQueue::begin(int64_t most_at_once) {
  int64_t before =
      std::ranges::count_if(under_way_, [](const Sum& sum) { return sum.job->in_first_round(); });
  int64_t begun = 0;
  for (; !next_.empty() && before + begun < most_at_once; ++begun) {
    under_way_.push_back(std::move(next_.front()));
    next_.pop_front();
    under_way_.back().job->begin();
  }
  return begun;
}

bool SumQueue::advance(Requests& requests) {
  bool moved = look(requests);
  for (Sum& sum : under_way_) sum.job->advance();
  return moved;
}

void SumQueue::finish() {
  for (; !under_way_.empty() && under_way_.front().job->is_done(); under_way_.pop_front())
    if (under_way_.front().done) under_way_.front().done(nullptr);
}

void SumQueue::give_up(const std::exception_ptr& why) {
  std::ranges::move(next_, std::back_inserter(under_way_));
  next_.clear();
  for (; !under_way_.empty(); under_way_.pop_front()) {
    if (under_way_.front().done) under_way_.front().done(why);
    given_up_.push_back(std::move(under_way_.front().job));
  }
}

const SumQueue::Clock::time_point* SumQueue::oldest() const {
  return under_way_.empty() ? nullptr : &under_way_.front().begun;
}

void SumQueue::leave_out(Clock::duration gap) {
  for (std::deque<Sum>* sums : {&next_, &under_way_})
    for (Sum& sum : *sums) sum.begun += gap;
}

}  // namespace stoker::distribute::mpi
