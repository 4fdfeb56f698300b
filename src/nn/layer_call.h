// A call of a layer. It stands for the layer in a sketch: train walks the nodes of a functional
// model, and finds its layers by
//   if (auto* call = dynamic_cast<LayerCall*>(callable.get())) … call->layer …
// A call made inside another layer's call() registers the called layer as its child.
#pragma once

#include <vector>

#include <stoker/layer.h>

#include "graph/op.h"
#include "graph/sketch.h"

namespace stoker {

class LayerCall : public Callable {
 public:
  explicit LayerCall(Layer called, std::optional<bool> in_training = {}, Attrs with = {})
      : layer(std::move(called)), training(in_training), arguments(std::move(with)) {}
  // Error when the layer is already being called: it would call itself without end.
  // inputs: the layer's, then the masks that the call was given.
  Values apply(Graph& graph, const Values& inputs) override;
  // The operands of apply(): the inputs, then the masks that are defined.
  Values with_masks(const Values& inputs, const Values& masks);

  const Layer layer;
  const std::optional<bool> training;  // as in CallOptions
  const Attrs arguments;               // likewise
  std::vector<size_t> masked;          // per mask among the operands: the input that it masks
  // While a sketch tries the layer out, its batch size is a placeholder: errors show "None" in its
  // place.
  bool trial = false;
  // How many extents the masks have that the inputs carry (0: none), for trials, whose inputs are
  // stand-ins; and those of the outputs, which the trial finds out for the calls behind this one.
  std::vector<int> mask_ranks, output_mask_ranks;
  void expect_masks_of(const Values& inputs);
};

}  // namespace stoker
