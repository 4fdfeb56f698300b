// flat_map and interleave: every element becomes a dataset; their elements follow each other, or
// take turns. What comes out is numbered through.
#include <fmt/format.h>

#include "data/node.h"
#include "data/ops/expanding.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

class InterleaveNode final : public Node {
 public:
  InterleaveNode(std::string kind, const NodeRef& input, ElementSpec spec, Dataset::Expand function,
                 InterleaveOptions options)
      : Node(std::move(kind), {input}, std::move(spec), {}, false),
        function_(std::move(function)),
        options_(std::move(options)) {}

  std::string details() const override {
    std::string text = options_.name.empty() ? "" : fmt::format("\"{}\"", options_.name);
    if (kind() == "flat_map") return text;
    text += fmt::format("{}cycle = {}, block = {}", text.empty() ? "" : ", ", options_.cycle,
                        options_.block);
    return text + (options_.parallel == 1 ? ", parallel = 1" : "");
  }

  std::string identity() const override {
    return fmt::format("\"{}\", {}, {}", options_.name, options_.cycle, options_.block);
  }
  const std::type_info* unknown_code() const override { return &function_.target_type(); }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    std::string replay = planned.replay.empty() ? title(*this) + " is read again" : planned.replay;
    planned = context.materialised(std::move(planned), *input());
    Turns turns{.cycle = options_.cycle,
                .block = options_.block,
                .ahead = options_.parallel != 1 && options_.cycle > 1 && !context.as_written};
    planned.replay = replay;
    ExpandTicket expand = [function = function_](const Ticket& outer) {
      return function(outer.held->value());
    };
    return expanded(std::move(planned), *this, std::move(expand), turns, context);
  }

 private:
  Dataset::Expand function_;
  InterleaveOptions options_;
};

}  // namespace

Dataset Dataset::flat_map(ElementSpec spec, Expand function, const std::string& name) const {
  InterleaveOptions options{.cycle = 1, .block = 1, .parallel = 1, .name = name};
  return Dataset(std::make_shared<InterleaveNode>("flat_map", node_, std::move(spec),
                                                  std::move(function), options));
}

Dataset Dataset::interleave(ElementSpec spec, Expand function,
                            const InterleaveOptions& options) const {
  if (options.cycle < 1 || options.block < 1 ||
      (options.parallel != AUTOTUNE && options.parallel < 1))
    throw ValueError(
        fmt::format("interleave: cycle is {}, block {} and parallel {}, expected at "
                    "least 1 each",
                    options.cycle, options.block, options.parallel));
  return Dataset(std::make_shared<InterleaveNode>("interleave", node_, std::move(spec),
                                                  std::move(function), options));
}

}  // namespace stoker::data
