// skip: all but the first elements.
#include <algorithm>

#include "data/ops/check_count.h"
#include "data/runtime/positions.h"

namespace stoker::data {

namespace {

class SkipTickets final : public Tickets {
 public:
  SkipTickets(std::unique_ptr<Tickets> input, int64_t count)
      : input_(std::move(input)), count_(count) {}
  void begin(int64_t epoch) override {
    input_->begin(epoch);
    pending_ = true;
  }
  bool next(Ticket& ticket) override {
    pass();
    return input_->next(ticket);
  }
  void skip(int64_t count) override {
    pass();
    input_->skip(count);
  }

 private:
  void pass() {
    if (pending_) input_->skip(count_);
    pending_ = false;
  }
  std::unique_ptr<Tickets> input_;
  int64_t count_;
  bool pending_ = false;
};

class SkipNode final : public Node {
 public:
  SkipNode(const NodeRef& input, int64_t count)
      : Node("skip", {input}, input->spec(),
             counted(input->cardinality(),
                     [&](int64_t n) { return std::max<int64_t>(n - count, 0); }),
             input->random_access()),
        count_(count) {}
  std::string details() const override { return std::to_string(count_); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (!planned.length) {
      planned.stream = std::make_unique<SkipTickets>(std::move(planned.stream), count_);
      return planned;
    }
    int64_t length = *planned.length == Cardinality::kInfinite
                         ? Cardinality::kInfinite
                         : std::max<int64_t>(*planned.length - count_, 0);
    return placed(std::move(planned), length,
                  [count = count_](int64_t&, int64_t& index) { index = sum(index, count); });
  }

 private:
  int64_t count_;
};

}  // namespace

Dataset Dataset::skip(int64_t count) const {
  check_count("skip", count, 0);
  return Dataset(std::make_shared<SkipNode>(node_, count));
}

}  // namespace stoker::data
