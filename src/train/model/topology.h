// What lies between the inputs and the outputs of a model: the nodes of its sketch in an order that
// can be replayed, its layers, and names for everything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/layer.h>

#include "graph/sketch.h"
#include "nn/layer_call.h"

namespace stoker {

struct Topology {
  Values inputs, outputs;  // sketched
  std::vector<std::shared_ptr<const SketchNode>>
      nodes;                  // without the inputs, every node after its operands
  std::vector<Layer> layers;  // each once, in the order of nodes
  std::vector<std::string> input_names, output_names;  // unique; an output is named after its layer

  // Without batch: what one row of an input holds.
  TensorSpec input_row(size_t index) const;
  // The batch size that the inputs fix (InputOptions::batch_size), or `any`.
  int64_t batch_or(int64_t any) const;
};

// ValueError when an output depends on an Input that is not among the inputs, or when two layers
// have one name. Names the layers that have none: "conv2d", "conv2d_1", …
Topology make_topology(const Values& inputs, const Values& outputs);

// Gives names to the layers without one; ValueError for a name that occurs twice.
void name_layers(const std::vector<Layer>& layers);

// The call, or the layer that a node calls; null for ops and inputs.
const LayerCall* call_of(const SketchNode& node);
const Layer* layer_of(const SketchNode& node);

}  // namespace stoker
