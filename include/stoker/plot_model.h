// Pictures of models: plot_model draws one as SVG, model_to_dot describes one for Graphviz.
//
//   utils::plot_model(model, "model.svg", {.show_shapes = true, .show_layer_names = true});
#pragma once

#include <string>

#include <stoker/model.h>

namespace stoker::utils {

struct PlotModelOptions {
  bool show_shapes = false;       // of inputs and outputs
  bool show_dtype = false;        // of outputs
  bool show_layer_names = false;  // beside the kind of the layer
  std::string rankdir = "TB";     // top to bottom, or "LR": left to right
  bool show_layer_activations = false;
  bool show_trainable = false;  // marks frozen layers
};

// One box per layer, op and input, one line per value that goes from one to the next; a model inside
// of the model is one box. Writes SVG (".svg") or Graphviz's language (".dot"), atomically;
// ValueError for another ending.
void plot_model(const Model& model, const std::string& to_file = "model.svg",
                const PlotModelOptions& options = {});

// The SVG as text.
std::string model_to_svg(const Model& model, const PlotModelOptions& options = {});
// The same graph in Graphviz's language.
std::string model_to_dot(const Model& model, const PlotModelOptions& options = {});

}  // namespace stoker::utils
