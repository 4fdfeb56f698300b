// filter: keeps the elements for which a predicate is true. What follows is a stream.
#include "data/ops/predicate_node.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"
#include "data/runtime/worker.h"

namespace stoker::data {

namespace {

class FilterMaker final : public Maker {
 public:
  FilterMaker(MakerRef input, PredicateRef predicate, std::string stage, uint64_t key,
              size_t scratch)
      : input_(std::move(input)),
        predicate_(std::move(predicate)),
        stage_(std::move(stage)),
        key_(key),
        scratch_(scratch) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    ScratchElement& in = worker.scratch(scratch_);
    Made made = input_->make(ticket, in, worker);
    if (!made.kept) return made;
    Rng rng(mixed(key_, uint64_t(made.epoch)), uint64_t(made.index));
    try {
      made.kept = predicate_->test(in.views(), rng);
    } catch (...) {
      rethrow_addressed(stage_, made.epoch, made.index, input_->origin(ticket));
    }
    for (size_t i = 0; made.kept && i < in.views().size(); ++i) out.copy(i, in.views()[i]);
    return made;
  }
  std::string origin(const Ticket& ticket) const override { return input_->origin(ticket); }

 private:
  MakerRef input_;
  PredicateRef predicate_;
  std::string stage_;
  uint64_t key_;
  size_t scratch_;
};

class FilterNode final : public PredicateNode {
 public:
  FilterNode(const NodeRef& input, PredicateRef predicate, FilterOptions options)
      : PredicateNode("filter", input,
                      input->cardinality().infinite() ? input->cardinality() : Cardinality{},
                      std::move(predicate), std::move(options)) {}

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    planned.maker =
        std::make_shared<FilterMaker>(std::move(planned.maker), predicate(), title(*this),
                                      context.key(*this), context.new_scratch());
    planned.may_drop = true;
    return context.materialised(std::move(planned), *this);
  }
};

}  // namespace

Dataset Dataset::filter(PredicateRef predicate, const FilterOptions& options) const {
  return Dataset(std::make_shared<FilterNode>(node_, std::move(predicate), options));
}

}  // namespace stoker::data
