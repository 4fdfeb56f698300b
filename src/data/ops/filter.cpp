// filter: keeps the elements for which a predicate is true. What follows is a stream.
#include "data/ops/element_maker.h"
#include "data/ops/predicate_node.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

class FilterMaker final : public ElementMaker {
 public:
  FilterMaker(MakerRef input, PredicateRef predicate, std::string stage, uint64_t key,
              size_t scratch)
      : ElementMaker(std::move(input), std::move(stage), key, scratch),
        predicate_(std::move(predicate)) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    const ScratchElement* element = nullptr;
    Made made = make_from(ticket, worker, [&](const ScratchElement& in, Rng& rng, Made& named) {
      element = &in;
      named.kept = predicate_->test(in.views(), rng);
    });
    for (size_t i = 0; made.kept && i < element->views().size(); ++i)
      out.copy(i, element->views()[i]);
    return made;
  }

 private:
  PredicateRef predicate_;
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
