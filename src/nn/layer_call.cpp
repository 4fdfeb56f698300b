#include "nn/layer_call.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/graph.h"

namespace stoker {

namespace {

// "[8191, 784]" → "[None, 784]", wherever a shape begins with the placeholder.
std::string without_batch(std::string text, int64_t batch) {
  std::string placeholder = "[" + std::to_string(batch);
  for (size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + 1)) {
    char next = at + placeholder.size() < text.size() ? text[at + placeholder.size()] : ' ';
    if (next == ',' || next == ']') text.replace(at, placeholder.size(), "[None");
  }
  return text;
}

void check_not_running(const LayerBase& layer, const Graph::Call* call) {
  std::string chain = layer.label();
  for (; call != nullptr; call = call->outer) {
    chain = call->layer.label() + " → " + chain;
    if (&call->layer == &layer)
      throw Error(fmt::format("{} \"{}\" calls itself ({}); a layer cannot be part of itself",
                              layer.kind(), layer.label(), chain));
  }
}

}  // namespace

Values LayerCall::apply(Graph& graph, const Values& inputs) {
  check_not_running(layer.base(), graph.call());
  if (graph.call() != nullptr) graph.call()->layer.adopt(layer.shared());
  Graph::Call call(graph, layer.base(), training.value_or(graph.training()));
  if (!trial || inputs.empty() || inputs[0].shape().rank() == 0)
    return layer.base().run(graph, inputs);
  try {
    return layer.base().run(graph, inputs);
  } catch (const ShapeError& error) {
    throw ShapeError(without_batch(error.what(), inputs[0].shape()[0]));
  }
}

}  // namespace stoker
