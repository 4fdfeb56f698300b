// take: the first elements.
#include <algorithm>

#include "data/ops/check_count.h"
#include "data/runtime/positions.h"

namespace stoker::data {

namespace {

class TakeTickets final : public Tickets {
 public:
  TakeTickets(std::unique_ptr<Tickets> input, int64_t count)
      : input_(std::move(input)), count_(count) {}
  void begin(int64_t epoch) override { input_->begin(epoch), left_ = count_; }
  bool next(Ticket& ticket) override {
    if (left_ == 0) return false;
    --left_;
    return input_->next(ticket);
  }
  void skip(int64_t count) override {
    input_->skip(std::min(count, left_));
    left_ -= std::min(count, left_);
  }

 private:
  std::unique_ptr<Tickets> input_;
  int64_t count_, left_ = 0;
};

class TakeNode final : public Node {
 public:
  TakeNode(const NodeRef& input, int64_t count)
      : Node("take", {input}, input->spec(), limited(input->cardinality(), count),
             input->random_access()),
        count_(count) {}
  std::string details() const override { return std::to_string(count_); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (planned.length) {
      planned.length = std::min(*planned.length, count_);
    } else {
      planned.stream = std::make_unique<TakeTickets>(std::move(planned.stream), count_);
    }
    return planned;
  }

 private:
  static Cardinality limited(Cardinality of, int64_t count) {
    if (!of.known()) return count == 0 ? Cardinality{0} : of;
    return {std::min(*of.count, count)};
  }
  int64_t count_;
};

}  // namespace

Dataset Dataset::take(int64_t count) const {
  check_count("take", count, -1);
  return count < 0 ? *this : Dataset(std::make_shared<TakeNode>(node_, count));
}

}  // namespace stoker::data
