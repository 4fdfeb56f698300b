// take_while: the elements before the first one that a predicate refuses.
#include "data/ops/in_order.h"
#include "data/ops/predicate_node.h"

namespace stoker::data {

namespace {

class TakeWhilePass final : public Pass {
 public:
  TakeWhilePass(PredicateRef predicate, uint64_t key)
      : predicate_(std::move(predicate)), key_(key) {}
  Verdict see(Ticket& ticket) override {
    Rng rng(mixed(key_, uint64_t(ticket.epoch)), uint64_t(ticket.index));
    const Batch& element = ticket.held->element;
    std::vector<ConstTensorView> views(element.begin(), element.end());
    return predicate_->test(views, rng) ? Verdict::keep : Verdict::end;
  }

 private:
  PredicateRef predicate_;
  uint64_t key_;
};

class TakeWhileNode final : public PredicateNode {
 public:
  TakeWhileNode(const NodeRef& input, PredicateRef predicate, FilterOptions options)
      : PredicateNode("take_while", input, {}, std::move(predicate), std::move(options)) {}

  Planned plan(PlanContext& context) const override {
    return in_order(*this, context, [predicate = predicate(), key = context.key(*this)](int64_t) {
      return std::make_unique<TakeWhilePass>(predicate, key);
    });
  }
};

}  // namespace

Dataset Dataset::take_while(PredicateRef predicate, const FilterOptions& options) const {
  return Dataset(std::make_shared<TakeWhileNode>(node_, std::move(predicate), options));
}

}  // namespace stoker::data
