// take_while: the elements before the first one that a predicate refuses.
#include <fmt/format.h>

#include "data/ops/in_order.h"

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

class TakeWhileNode final : public Node {
 public:
  TakeWhileNode(const NodeRef& input, PredicateRef predicate, FilterOptions options)
      : Node("take_while", {input}, input->spec(), {}, false),
        predicate_(std::move(predicate)),
        options_(std::move(options)) {
    predicate_->check(spec());
  }
  std::string details() const override {
    return options_.name.empty() ? "" : fmt::format("\"{}\"", options_.name);
  }
  bool draws_at_random() const override { return predicate_->is_random(); }
  std::string recipe() const override {
    std::string known = predicate_->identity();
    return known.empty() ? details() : known;
  }
  const std::type_info* unknown_code() const override {
    return predicate_->identity().empty() ? &typeid(*predicate_) : nullptr;
  }
  Planned plan(PlanContext& context) const override {
    return in_order(*this, context, [predicate = predicate_, key = context.key(*this)](int64_t) {
      return std::make_unique<TakeWhilePass>(predicate, key);
    });
  }

 private:
  PredicateRef predicate_;
  FilterOptions options_;
};

}  // namespace

Dataset Dataset::take_while(PredicateRef predicate, const FilterOptions& options) const {
  return Dataset(std::make_shared<TakeWhileNode>(node_, std::move(predicate), options));
}

}  // namespace stoker::data
