// The graph of a user's own step (stoker/own_step.h): the tensors of a batch → the step, its gradients
// and updates → sums for the logs; guarded in training.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "graph/graph.h"
#include "train/model/trainer.h"

namespace stoker {

// The user's step of this kind; undefined: the library's own.
const OwnStep& own_step(const Compiled& compiled, StepKind kind);
inline bool has_own_step(const Trainer& trainer, StepKind kind) {
  return trainer.compiled != nullptr && own_step(*trainer.compiled, kind).defined();
}

// Checks that a batch has as many tensors as the step takes, and that the first has rows: its samples.
// The others may have any number of them, as the nodes and edges of graphs do. ValueError or ShapeError
// that begins with `action`.
void check_own_step_specs(const Trainer& trainer, StepKind kind, std::span<const TensorSpec> specs,
                          const std::string& action);
// Arrays that batches are cut from have equal numbers of rows; else a ShapeError.
void check_own_step_columns(std::span<const TensorSpec> specs, const std::string& action);

// Traces it. Of a training step, Compiled then knows what it updates: optimisers, weights, state.
std::unique_ptr<Graph> trace_own_step(ModelBase& model, Trainer& trainer, StepKind kind,
                                      std::span<const TensorSpec> specs);

// Which of its programs the optimisers of an own training step ask for, as `whole` of program_key().
int64_t own_program(const Compiled& compiled);
// The host's count after an own training step.
void count_own_batch(const Compiled& compiled);

// Before fit or evaluate: ValueError for what only the library's own steps can do.
void check_own_fit(const Trainer& trainer, const FitArgs& args);
void check_own_evaluation(const Trainer& trainer, const std::string& action);

}  // namespace stoker
