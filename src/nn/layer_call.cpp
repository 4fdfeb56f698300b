#include "nn/layer_call.h"

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

}  // namespace

Values LayerCall::apply(Graph& graph, const Values& inputs) {
  if (!trial || inputs.empty() || inputs[0].shape().rank() == 0)
    return layer.base().run(graph, inputs);
  try {
    return layer.base().run(graph, inputs);
  } catch (const ShapeError& error) {
    throw ShapeError(without_batch(error.what(), inputs[0].shape()[0]));
  }
}

}  // namespace stoker
