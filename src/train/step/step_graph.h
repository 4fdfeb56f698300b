// The graphs of a model's steps, each for one set of input specs:
//   training    inputs → model → losses + penalties → gradients → update → sums; guarded
//   part        the same up to the gradients, which are added to trainer.part_sums → sums; guarded
//   evaluation  inputs → model → losses → sums
//   prediction  inputs → model
// Inputs of a graph: the model's inputs, then, but for prediction, one target an output, then none,
// one or one per output of sample weights, [B] or one per element of the loss.
#pragma once

#include <memory>
#include <span>

#include "graph/graph.h"
#include "graph/replica.h"
#include "train/model/trainer.h"

namespace stoker {

// `whole`: samples of the batch that the specs are a part of; gradients are weighted by the part's
// share of them. 0: the specs are the whole batch. `replica`: which replica the graph is for; its
// sums are those of the whole batch.
std::unique_ptr<Graph> trace_step(ModelBase& model, Trainer& trainer, StepKind kind,
                                  std::span<const TensorSpec> specs, int64_t whole = 0,
                                  const Replica& replica = {});

// Specs of the predictions for a batch of this size.
std::vector<TensorSpec> prediction_specs(const ModelBase& model, int64_t batch_size);

// ValueError for targets where no output has a loss.
void check_any_targets(const std::string& action, size_t expected, size_t given);

// Checks a batch: count and shapes of inputs, targets and weights, equal numbers of rows.
// ValueError or ShapeError that begins with `action` and names what is wrong.
void check_step_specs(ModelBase& model, const Trainer& trainer, StepKind kind,
                      std::span<const TensorSpec> specs, const std::string& action);

}  // namespace stoker
