#include "interop/onnx/batch_twins.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <stoker/error.h>

#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

[[noreturn]] void fail(const Node& node) {
  throw ValueError(fmt::format(
      "export_onnx: layer \"{}\", op {}: what it does depends on the batch size or on another "
      "unknown dimension; export with a fixed .batch, or give Input its sizes",
      node.scope, node.op->name));
}

bool states_a_shape(const std::string& op, const std::string& attribute) {
  static constexpr auto kShapes = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"reshape", "shape"}, {"broadcast_to", "shape"}, {"slice", "size"}});
  return std::ranges::find(kShapes, std::pair<std::string_view, std::string_view>(op, attribute)) !=
         kShapes.end();
}

bool alike(const Node& a, const Node& b) {
  if (a.op != b.op || a.inputs != b.inputs || a.outputs != b.outputs) return false;
  if (onnx_refusals().contains(a.op->name)) return true;  // and will be, for what it is
  return std::ranges::equal(
      a.attrs.entries(), b.attrs.entries(),
      [&](const Attrs::Entry& mine, const Attrs::Entry& theirs) {
        return mine.first == theirs.first &&
               (mine.second == theirs.second || states_a_shape(a.op->name, mine.first));
      });
}

bool reads(const Node& node, int value) {
  return std::ranges::find(node.inputs, value) != node.inputs.end();
}

}  // namespace

void check_twins(const Graph& graph, const Graph& other) {
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (i >= other.nodes().size() || !alike(graph.nodes()[i], other.nodes()[i]))
      fail(graph.nodes()[i]);
  if (other.nodes().size() > graph.nodes().size()) fail(other.nodes()[graph.nodes().size()]);
  for (size_t i = 0; i < graph.constants().size(); ++i) {
    if (graph.constants()[i].tensor == other.constants()[i].tensor) continue;
    for (const Node& node : graph.nodes())
      if (reads(node, graph.constants()[i].value)) fail(node);
  }
}

}  // namespace stoker
