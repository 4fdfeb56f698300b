// Which steps of a plan run in int8.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

#include "compress/quant_plan.h"
#include "compress/rebuild.h"

namespace stoker::compress {

void QuantPlan::choose(const PlanRequest& request) {
  auto asked = [&](const Step& step) { return names_it(request.layers, step.path); };
  // Whether a step could run in int8 if what reads it wanted that.
  auto able = [&](const Step& step) -> std::string {
    if (step.kind == StepKind::other) return step.reason;
    if (names_it(request.exclude, step.path)) return "is in .exclude";
    if (step.kind == StepKind::product && !request.layers.empty() && !asked(step))
      return "is not in .layers";
    if (step.kind == StepKind::batch_norm && edges_[size_t(step.outputs[0])].spec.shape.rank() != 4)
      return "batch normalisation that no layer before it can take, and not of images";
    return {};
  };
  std::vector<bool> can(steps_.size(), false), wanted(edges_.size(), false);
  // An aware model has learned the range of what its int8 steps read, but for codes that are only
  // moved: those have it behind the last move.
  auto made_in_int8 = [&](const Step& step, int edge) {
    int maker = edges_[size_t(edge)].maker;
    if (maker < 0 || !can[size_t(maker)]) return false;
    return !request.only_aware || step.kind >= StepKind::max_pool ||
           is_range(steps_[size_t(maker)].layer);
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.taken || !able(step).empty()) continue;
    bool moves = step.kind >= StepKind::padding;
    can[i] = step.kind == StepKind::product || moves ||
             std::ranges::all_of(step.inputs,
                                 [&](const Operand& one) { return made_in_int8(step, one.edge); });
  }
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    if (step.taken) continue;
    step.int8 = can[i] && (step.kind == StepKind::product || wanted[size_t(step.outputs[0])]);
    if (step.int8)
      for (const Operand& one : step.inputs) wanted[size_t(one.edge)] = true;
  }
  for (const Step& step : steps_) {
    if (step.taken || step.int8) continue;
    std::string reason = able(step);
    if (asked(step) && !reason.empty() && step.kind == StepKind::other)
      throw ValueError(
          fmt::format("{}: layer \"{}\" cannot be int8: {}", request.action, step.path, reason));
    if (reason.empty() && step.kind == StepKind::nothing) continue;
    if (reason.empty()) reason = "nothing behind it runs in int8, or what it reads is float";
    bool known = std::ranges::any_of(in_float_, [&](const KeptInFloat& one) {
      return one.layer == step.path && one.reason == reason;
    });
    if (!known) in_float_.push_back({step.path, reason});
  }
  for (size_t edge = 0; edge < edges_.size(); ++edge) edges_[edge].stored = wanted[edge];
}

}  // namespace stoker::compress
