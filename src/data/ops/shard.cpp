// shard: every n-th element.
#include <fmt/format.h>

#include "data/ops/check_count.h"
#include "data/runtime/positions.h"

namespace stoker::data {

namespace {

class ShardTickets final : public Tickets {
 public:
  ShardTickets(std::unique_ptr<Tickets> input, int64_t count, int64_t index)
      : input_(std::move(input)), count_(count), index_(index) {}
  void begin(int64_t epoch) override { input_->begin(epoch), to_skip_ = index_; }
  bool next(Ticket& ticket) override {
    if (to_skip_ > 0) input_->skip(to_skip_);
    to_skip_ = count_ - 1;
    return input_->next(ticket);
  }
  void skip(int64_t count) override {
    if (count == 0) return;
    input_->skip(sum(to_skip_ + 1, product(count - 1, count_)));
    to_skip_ = count_ - 1;
  }

 private:
  std::unique_ptr<Tickets> input_;
  int64_t count_, index_, to_skip_ = 0;
};

class ShardNode final : public Node {
 public:
  ShardNode(const NodeRef& input, int64_t count, int64_t index)
      : Node("shard", {input}, input->spec(),
             counted(input->cardinality(), [&](int64_t n) { return length(n, count, index); }),
             input->random_access()),
        count_(count),
        index_(index) {}
  std::string details() const override { return fmt::format("{}, {}", count_, index_); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (!planned.length) {
      planned.stream = std::make_unique<ShardTickets>(std::move(planned.stream), count_, index_);
      return planned;
    }
    int64_t shard_length = length(*planned.length, count_, index_);
    return placed(std::move(planned), shard_length,
                  [count = count_, first = index_](int64_t&, int64_t& index) {
                    index = sum(product(index, count), first);
                  });
  }

 private:
  static int64_t length(int64_t n, int64_t count, int64_t index) {
    if (n == Cardinality::kInfinite) return n;
    return n <= index ? 0 : (n - index - 1) / count + 1;
  }
  int64_t count_, index_;
};

}  // namespace

Dataset Dataset::shard(int64_t count, int64_t index) const {
  check_count("shard", count, 1);
  if (index < 0 || index >= count)
    throw ValueError(
        fmt::format("shard({}, {}): expected an index from 0 to {}", count, index, count - 1));
  return Dataset(std::make_shared<ShardNode>(node_, count, index));
}

}  // namespace stoker::data
