// How much faster a smaller model should train, from the ops of the larger one.
#include <stoker/compare.h>

#include <map>

#include <fmt/format.h>

#include "compress/compared.h"
#include "observe/layer_times.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

constexpr int kTimedSteps = 6;

struct OpCost {
  double flops = 0, bytes = 0;
};
using OpCosts = std::map<doctor::OpKey, OpCost>;

Phase phase_named(const std::string& phase) {
  return phase == "backward" ? Phase::backward : phase == "update" ? Phase::update : Phase::forward;
}

OpCosts costs_of(const CachedProgram& step) {
  OpCosts costs;
  for (const KernelInfo& kernel : step.program->kernels()) {
    OpCost& cost = costs[{kernel.scope, kernel.op, kernel.phase}];
    cost.flops += kernel.cost.flops;
    cost.bytes += kernel.cost.bytes;
  }
  return costs;
}

// An op that does this many FLOPs per byte computes; others move data.
constexpr double kComputes = 4;

double scale(const OpCost& before, const OpCost& after) {
  bool computes = before.flops > kComputes * before.bytes;
  double from = computes ? before.flops : before.bytes, to = computes ? after.flops : after.bytes;
  return from > 0 ? to / from : 1;
}

OpCost total_of(const OpCosts& costs) {
  OpCost sum;
  for (const auto& [key, cost] : costs) sum.flops += cost.flops, sum.bytes += cost.bytes;
  return sum;
}

}  // namespace

double predict_speedup(const Model& model, const Model& smaller, const Batch& batch,
                       const CompareOptions& options) {
  std::vector<ComparedModel> both = {{"the model", model}, {"the smaller one", smaller}};
  compress::check_comparable(both);
  const Model* settings = compress::first_compiled(both);
  if (settings == nullptr && options.loss.list().empty())
    throw ValueError("predict_speedup: no loss is known; compile one of the models, or give .loss");
  Model large = compress::view_of(model, options, settings);
  Model small = compress::view_of(smaller, options, settings);
  ModelBase& base = ModelAccess::base(large);
  StateSnapshot before(base);
  auto step_of = [&](const Model& each) -> CachedProgram& {
    return program_for(ModelAccess::base(each), StepKind::train,
                       std::span<const Tensor>(batch.tensors()), "predict_speedup");
  };
  before.cover(*step_of(large).graph);
  OpCosts costs = costs_of(step_of(large)), fewer = costs_of(step_of(small));
  double whole = scale(total_of(costs), total_of(fewer));
  double seconds = 0, predicted = 0;
  for (const doctor::LayerReport& row : doctor::time_layers(base, batch.tensors(), kTimedSteps)) {
    doctor::OpKey key{row.layer, row.op, phase_named(row.phase)};
    auto now = fewer.find(key), then = costs.find(key);
    bool known = now != fewer.end() && then != costs.end();
    seconds += row.seconds;
    predicted += row.seconds * (known ? scale(then->second, now->second) : whole);
  }
  return predicted > 0 ? seconds / predicted : 1;
}

}  // namespace stoker
