#include "distribute/local/replica_group.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "distribute/sums.h"

namespace stoker::distribute {

// What a replica's program sees.
class ReplicaGroup::Member final : public Communicator {
 public:
  Member(std::shared_ptr<ReplicaGroup> group, int replica)
      : group_(std::move(group)), replica_(replica) {}

  int rank() const override { return group_->rank_of(replica_); }
  int size() const override { return group_->ranks(); }
  uint64_t start_sum(const SumCall& call) override { return group_->start(replica_, call); }
  void wait(uint64_t ticket) override {
    int64_t begin = steady_clock().now();
    group_->wait(ticket);
    if (replica_ == 0) group_->waited_ns_ += steady_clock().now() - begin;
  }

 private:
  std::shared_ptr<ReplicaGroup> group_;
  int replica_;
};

int ReplicaGroup::ranks() const {
  int processes = options_.transport != nullptr ? options_.transport->processes() : 1;
  return processes * options_.replicas;
}

int ReplicaGroup::rank_of(int replica) const {
  int process = options_.transport != nullptr ? options_.transport->process() : 0;
  return process * options_.replicas + replica;
}

std::shared_ptr<Communicator> ReplicaGroup::communicator(int replica) {
  return std::make_shared<Member>(shared_from_this(), replica);
}

void ReplicaGroup::fail(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = reason;
  changed_.notify_all();
}

void ReplicaGroup::recover() {
  std::lock_guard lock(mutex_);
  if (failure_.empty() && meetings_.empty()) return;
  failure_.clear();
  meetings_.clear();
  first_ = std::ranges::max(next_);
  std::ranges::fill(next_, first_);
}

std::shared_ptr<ReplicaGroup::Meeting> ReplicaGroup::meeting(uint64_t number) {
  while (first_ + meetings_.size() <= number) {
    meetings_.push_back(std::make_shared<Meeting>());
    meetings_.back()->calls.resize(size_t(options_.replicas));
  }
  return meetings_[size_t(number - first_)];
}

// Sums are numbered by replica; those of one number meet.
uint64_t ReplicaGroup::start(int replica, const SumCall& call) {
  std::shared_ptr<Meeting> met;
  uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    number = next_[size_t(replica)]++;
    met = meeting(number);
    for (const SumCall& other : met->calls)
      if (other.data != nullptr && (other.elements != call.elements || other.wire != call.wire))
        throw CollectiveError(
            fmt::format("replica {} sums {} elements where another sums {}: the replicas run "
                        "different steps",
                        rank_of(replica), call.elements, other.elements));
    met->calls[size_t(replica)] = call;
    if (++met->arrived < options_.replicas) return number;
    changed_.notify_all();
  }
  if (options_.transport != nullptr) hand_over(met);
  return number;
}

void ReplicaGroup::hand_over(const std::shared_ptr<Meeting>& meeting) {
  Exchange exchange{
      .contributions = {}, .elements = meeting->calls[0].elements, .wire = meeting->calls[0].wire};
  for (const SumCall& call : meeting->calls) exchange.contributions.push_back(call.data);
  options_.transport->start(std::move(exchange),
                            [self = shared_from_this(), meeting](const std::exception_ptr& error) {
                              std::lock_guard lock(self->mutex_);
                              meeting->done = true;
                              meeting->error = error;
                              self->changed_.notify_all();
                            });
}

std::string ReplicaGroup::who_is_missing(const Meeting& meeting) const {
  std::string missing;
  for (int replica = 0; replica < options_.replicas; ++replica)
    if (meeting.calls[size_t(replica)].data == nullptr)
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank_of(replica));
  return missing.empty() ? "another process" : "replica " + missing;
}

template <class Ready>
void ReplicaGroup::wait_until(std::unique_lock<std::mutex>& lock, const Meeting& meeting,
                              uint64_t number, const Ready& ready) {
  // The transport has the same deadline and knows which process is missing: it speaks first.
  auto grace = std::chrono::seconds(options_.transport != nullptr ? 10 : 0);
  bool met = changed_.wait_for(lock, options_.deadline + grace,
                               [&] { return ready() || !failure_.empty(); });
  if (ready()) return;
  if (!failure_.empty()) throw CollectiveError(failure_);
  if (!met)
    throw CollectiveError(fmt::format("sum {} of a step: {} did not join within {:.0f} s", number,
                                      who_is_missing(meeting),
                                      double(options_.deadline.count()) / 1000));
}

// One of as many parts of the elements as there are replicas, for all of them.
void ReplicaGroup::sum_part(int part, const Meeting& meeting) const {
  const SumCall& call = meeting.calls[0];
  auto begin_of = [&](int number) {
    return call.elements * size_t(number) / size_t(options_.replicas);
  };
  size_t begin = begin_of(part), count = begin_of(part + 1) - begin;
  if (count == 0) return;
  size_t size = memory_size(call.wire);
  std::vector<const void*> parts;
  for (const SumCall& each : meeting.calls)
    parts.push_back(static_cast<const std::byte*>(each.data) + begin * size);
  auto* first = static_cast<std::byte*>(call.data) + begin * size;
  sum_in_order(parts, count, call.wire, first);
  for (size_t i = 1; i < meeting.calls.size(); ++i)
    std::memcpy(static_cast<std::byte*>(meeting.calls[i].data) + begin * size, first, count * size);
}

namespace {

// The transport knows that a replica waits.
class Waiting {
 public:
  explicit Waiting(Transport& transport) : transport_(transport) { transport_.wait_begins(); }
  ~Waiting() { transport_.wait_ends(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Transport& transport_;
};

}  // namespace

void ReplicaGroup::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Meeting> met = meeting(number);
  if (options_.transport != nullptr) {
    if (!met->done) {
      Waiting waiting(*options_.transport);
      wait_until(lock, *met, number, [&] { return met->done; });
    }
    if (met->error) std::rethrow_exception(met->error);
  } else {
    wait_until(lock, *met, number, [&] { return met->arrived == options_.replicas; });
    // Whoever waits adds up what is left: the others may be waiting for another sum first.
    while (met->claimed < options_.replicas) {
      int part = met->claimed++;
      lock.unlock();
      sum_part(part, *met);
      lock.lock();
      if (++met->summed == options_.replicas) changed_.notify_all();
    }
    wait_until(lock, *met, number, [&] { return met->summed == options_.replicas; });
  }
  ++met->left;
  while (!meetings_.empty() && meetings_.front()->left == options_.replicas) {
    meetings_.pop_front();
    ++first_;
  }
}

}  // namespace stoker::distribute
