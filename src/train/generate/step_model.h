// A model as steps of generation: its graph, traced once over the whole length, and what has to be
// kept between steps. Programs for chunks of 1, 2, 4, … tokens are derived from it.
//   fixed values   what does not depend on the tokens (positions, 16-bit weights, an encoder's
//                  output): computed once per generation
//   kept values    keys, values and masks of the tokens so far, states of recurrent layers
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "train/generate/time_axes.h"
#include "train/model/model_base.h"

namespace stoker {

// The logits of a model: [B, T, V], or [B, V] of the last step.
struct TracedLogits {
  std::unique_ptr<Graph> graph;
  TokenInput tokens;
  int logits = -1;
};
// specs: of the model's inputs; the tokens are the last of them.
TracedLogits trace_logits(ModelBase& model, std::span<const TensorSpec> specs);

// How a fixed value is stored.
struct FixedForm {
  int value = -1;
  int time_first = -1;  // the axis that comes first, [T, before, behind]; -1: as it is
  friend auto operator<=>(const FixedForm&, const FixedForm&) = default;
};

struct StepModel {
  TracedLogits traced;
  std::vector<TimeAxis> axes;  // by value of the traced graph
  int64_t capacity = 0;        // tokens that fit into the caches
  std::map<FixedForm, Variable> fixed;
  std::map<int, Variable> kept;  // by the value of the traced graph that they are made of
  std::vector<int> masks;        // attention masks whose values must be causal ones
  std::vector<TensorSpec> other_inputs;

  // Throws NotInSteps.
  StepModel(TracedLogits logits, int64_t cache_capacity);

  const Graph& graph() const { return *traced.graph; }
  const TimeAxis& axis(int value) const { return axes[size_t(value)]; }
};

// The program of a chunk: tokens [B, chunk] and positions int32 [chunk] → logits [B, V] behind the
// last of them. Adds what it needs to fixed and kept.
std::unique_ptr<Graph> chunk_graph(StepModel& model, int64_t chunk);
// Computes the fixed values, from the model's other inputs; gives the masks to look at. Null where
// there is nothing to compute.
std::unique_ptr<Graph> fixed_graph(const StepModel& model);
// Whether a mask [.., T, T] hides every later step.
bool is_causal_mask(const Tensor& mask);

}  // namespace stoker
