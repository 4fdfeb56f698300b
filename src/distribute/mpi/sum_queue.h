// The sums of a transport, in the order in which all processes begin them. Only on the communication
// thread.
#pragma once

#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "distribute/mpi/sum_job.h"

namespace stoker::distribute::mpi {

class SumQueue {
 public:
  using Clock = std::chrono::steady_clock;
  struct Sum {
    std::unique_ptr<SumJob> job;
    std::function<void(std::exception_ptr)> done;  // may be null: others follow
    Clock::time_point begun;
  };

  bool empty() const { return next_.empty() && under_way_.empty(); }
  void add(std::deque<Sum>& sums);  // moves them here
  // Begins those that have their turn: how many. CallError.
  int64_t begin(int64_t most_at_once);
  // Whether a message has come or gone; sums go on as far as that allows. CallError.
  bool advance(Requests& requests);
  void finish();                                // calls `done` of those that are
  void give_up(const std::exception_ptr& why);  // on all of them
  const Clock::time_point* oldest() const;      // when it was begun; null: none is under way
  void leave_out(Clock::duration gap);          // of the time since they were begun

 private:
  std::deque<Sum> next_, under_way_;
  std::vector<std::unique_ptr<SumJob>> given_up_;  // their messages may still arrive
};

}  // namespace stoker::distribute::mpi
