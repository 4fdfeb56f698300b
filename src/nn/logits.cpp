#include "nn/logits.h"

#include <stoker/ops.h>

#include "graph/graph.h"
#include "nn/targets.h"

namespace stoker {

namespace {

bool is_softmax(const Node& node) { return node.is("softmax"); }
bool is_sigmoid(const Node& node) {
  return node.is("unary") && node.attrs.get<std::string>("fn") == "sigmoid";
}

bool keeps_last_axis(const Graph& graph, const Node& node) {
  const Shape &from = graph.spec(node.inputs[0]).shape, &to = graph.spec(node.outputs[0]).shape;
  return from.rank() > 0 && to.rank() > 0 && from[-1] == to[-1];
}

// A softmax mixes the values of the last axis, so that a reshape may not change that axis.
bool is_transparent(const Graph& graph, const Node& node, bool mixes_last_axis) {
  if (node.is("reshape")) return !mixes_last_axis || keeps_last_axis(graph, node);
  return node.is("cast") && is_floating(graph.spec(node.inputs[0]).dtype) &&
         is_floating(graph.spec(node.outputs[0]).dtype);
}

Value logits_behind(const Value& y_pred, bool (*is_source)(const Node&), bool mixes_last_axis) {
  if (y_pred.traced() == nullptr) return {};
  Graph& graph = *y_pred.traced()->graph;
  int id = y_pred.traced()->id;
  for (const Node* node = graph.producer(id); node != nullptr; node = graph.producer(id)) {
    id = node->inputs[0];
    if (is_source(*node))
      return cast_to(ops::reshape(graph.value(id), y_pred.shape()), y_pred.dtype());
    if (!is_transparent(graph, *node, mixes_last_axis)) return {};
  }
  return {};
}

}  // namespace

Value logits_behind_softmax(const Value& y_pred) { return logits_behind(y_pred, is_softmax, true); }

Value logits_behind_sigmoid(const Value& y_pred) {
  return logits_behind(y_pred, is_sigmoid, false);
}

}  // namespace stoker
