// assert_cardinality: what is known of the number of elements, checked while they are walked over.
#include <fmt/format.h>

#include "data/ops/check_count.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

class CountingTickets final : public Tickets {
 public:
  CountingTickets(std::unique_ptr<Tickets> input, int64_t expected)
      : input_(std::move(input)), expected_(expected) {}
  void begin(int64_t epoch) override { input_->begin(epoch), seen_ = 0; }
  bool next(Ticket& ticket) override {
    bool more = input_->next(ticket);
    if (more ? seen_ == expected_ : seen_ != expected_)
      throw ValueError(fmt::format("assert_cardinality({}): the dataset has {} {} elements",
                                   expected_, more ? "more than" : "only", seen_));
    seen_ += more ? 1 : 0;
    return more;
  }

 private:
  std::unique_ptr<Tickets> input_;
  int64_t expected_, seen_ = 0;
};

class AssertNode final : public Node {
 public:
  AssertNode(const NodeRef& input, int64_t count)
      : Node("assert_cardinality", {input}, input->spec(), {count}, input->random_access()) {}
  std::string details() const override { return std::to_string(*cardinality().count); }
  bool transparent() const override { return true; }
  std::string identity() const override { return {}; }
  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (planned.length) return planned;
    if (planned.may_drop) planned = context.materialised(std::move(planned), *this);
    planned.stream =
        std::make_unique<CountingTickets>(std::move(planned.stream), *cardinality().count);
    return planned;
  }
};

}  // namespace

Dataset Dataset::assert_cardinality(int64_t count) const {
  check_count("assert_cardinality", count, 0);
  Cardinality known = cardinality();
  if (known.known() && *known.count != count)
    throw ValueError(fmt::format("assert_cardinality({}): the dataset has {} elements", count,
                                 known.infinite() ? "no end of" : std::to_string(*known.count)));
  return known.known() ? *this : Dataset(std::make_shared<AssertNode>(node_, count));
}

}  // namespace stoker::data
