// How a layer stands in a sketch: train walks the nodes of a functional model, and finds its layers
// by
//   if (auto* call = dynamic_cast<LayerCall*>(callable.get())) … call->layer …
#pragma once

#include <stoker/layer.h>

#include "graph/op.h"
#include "graph/sketch.h"

namespace stoker {

class LayerCall : public Callable {
 public:
  explicit LayerCall(Layer called) : layer(std::move(called)) {}
  Values apply(Graph& graph, const Values& inputs) override;

  const Layer layer;
  // While a sketch tries the layer out, its batch size is a placeholder: errors show "None" in its
  // place.
  bool trial = false;
};

}  // namespace stoker
