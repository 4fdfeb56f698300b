// scan: a function with a state that goes from element to element.
#include <fmt/format.h>

#include "data/ops/in_order.h"
#include "data/runtime/writers.h"

namespace stoker::data {

namespace {

class ScanPass final : public Pass {
 public:
  ScanPass(Batch state, Dataset::Scan function, ElementSpec spec)
      : state_(std::move(state)), function_(std::move(function)), spec_(std::move(spec)) {}
  Verdict see(Ticket& ticket) override {
    auto [state, made] = function_(state_, ticket.held->element);
    check_element(spec_, made);
    state_ = std::move(state);
    auto held = std::make_shared<Held>();
    held->element = std::move(made);
    ticket.held = std::move(held);
    return Verdict::keep;
  }

 private:
  Batch state_;
  Dataset::Scan function_;
  ElementSpec spec_;
};

class ScanNode final : public Node {
 public:
  ScanNode(const NodeRef& input, Batch state, ElementSpec spec, Dataset::Scan function,
           std::string name)
      : Node("scan", {input}, std::move(spec), input->cardinality(), false),
        state_(std::move(state)),
        function_(std::move(function)),
        name_(std::move(name)) {}
  std::string details() const override { return name_.empty() ? "" : fmt::format("\"{}\"", name_); }
  const std::type_info* unknown_code() const override { return &function_.target_type(); }
  Planned plan(PlanContext& context) const override {
    return in_order(*this, context, [state = state_, function = function_, of = spec()](int64_t) {
      return std::make_unique<ScanPass>(state, function, of);
    });
  }

 private:
  Batch state_;
  Dataset::Scan function_;
  std::string name_;
};

}  // namespace

Dataset Dataset::scan(Batch initial_state, ElementSpec spec, Scan function,
                      const std::string& name) const {
  if (!function) throw ValueError("scan: no function was given");
  return Dataset(std::make_shared<ScanNode>(node_, std::move(initial_state), std::move(spec),
                                            std::move(function), name));
}

}  // namespace stoker::data
