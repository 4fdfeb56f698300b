// Whole training steps as graphs: forward, backward and update.
#pragma once

#include <memory>
#include <vector>

#include <stoker/ops.h>

#include "engine/backend.h"

namespace stoker::test {

struct Network {
  Graph graph;
  std::vector<Variable> variables;  // everything a step changes
  std::vector<TensorSpec> inputs;   // x, class ids
  int64_t classes = 10;

  // The same batch for the same step.
  std::vector<Tensor> batch(int step) const;
};

// conv + bias + relu + pool, twice; dense + bias; softmax cross-entropy; adam.
std::unique_ptr<Network> small_cnn();
// conv + batch norm + relu with a shortcut, global mean, dropout, dense; gradients clipped by their
// global norm; sgd with Nesterov momentum; moving averages of the statistics; the loss is a guard.
std::unique_ptr<Network> residual_network();

struct AdamStep {
  float learning_rate = 0.01F;
  double epsilon = 1e-8, weight_decay = 0, clipvalue = 0;
};
// One adam_update of all parameters. Returns the variables that it adds: iterations and moments.
std::vector<Variable> add_adam(Graph& graph, const std::vector<Variable>& parameters,
                               const Values& gradients, const AdamStep& step);

}  // namespace stoker::test
