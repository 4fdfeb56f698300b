#include <algorithm>

#include "train/files/saving.h"
#include "train/model/model_base.h"
#include "train/step/step_graph.h"

namespace stoker {

std::vector<Variable> unowned_variables(ModelBase& model) {
  constexpr int64_t kAnyBatch = 2;
  const Topology& topology = model.topology("save");
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < topology.inputs.size(); ++i) {
    TensorSpec row = topology.input_row(i);
    specs.push_back(
        {row.dtype, with_trial_extents(row.shape).prepend(topology.batch_or(kAnyBatch))});
  }
  auto graph = trace_step(model, trainer_of(model), StepKind::predict, specs);
  std::vector<Variable> weights = model.weights(), unowned;
  for (const GraphVariable& each : graph->variables())
    if (each.variable.category() == MemoryCategory::weights &&  // not a random state
        std::ranges::find(weights, each.variable) == weights.end())
      unowned.push_back(each.variable);
  return unowned;
}

}  // namespace stoker
