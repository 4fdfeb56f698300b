// Padding layers into the windows that read them. Runs after gradients() has appended the backward
// nodes: conv2d and conv2d_weight_grad read the padded image, the input's gradient is cut out of
// that of the padded one, and each of these is the same op with larger `pads`.
#include <algorithm>
#include <array>
#include <optional>

#include "graph/passes/passes.h"

namespace stoker::passes {

namespace {

// Top, bottom, left, right, as the attribute `pads` has them.
using Pads = std::array<int64_t, 4>;

std::vector<size_t> readers_of(const Graph& graph, int value) {
  std::vector<size_t> readers;
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (std::ranges::count(graph.nodes()[i].inputs, value) > 0) readers.push_back(i);
  return readers;
}

// --- which pads, and into which windows ---

// An image with zeros around it, and nothing added to the batch or to the channels.
bool is_zero_frame(const Graph& graph, const Node& node) {
  if (!node.is("pad") || graph.spec(node.inputs[0]).shape.rank() != 4) return false;
  const auto &before = node.attrs.get<Ints>("before"), &after = node.attrs.get<Ints>("after");
  return node.attrs.get_or("value", 0.0) == 0 && before[0] + after[0] + before[3] + after[3] == 0;
}

Pads frame_of(const Node& pad) {
  const auto &before = pad.attrs.get<Ints>("before"), &after = pad.attrs.get<Ints>("after");
  return {before[1], after[1], before[2], after[2]};
}

Pads enlarged(const Node& node, const Pads& frame) {
  const auto& pads = node.attrs.get<Ints>("pads");
  return {pads[0] + frame[0], pads[1] + frame[1], pads[2] + frame[2], pads[3] + frame[3]};
}

std::array<int64_t, 2> window_of(const Graph& graph, const Node& node) {
  auto pair = [&](const char* name) {
    const auto& values = node.attrs.get<Ints>(name);
    return std::array<int64_t, 2>{values[0], values[1]};
  };
  if (node.is("max_pool2d") || node.is("max_pool2d_grad")) return pair("window");
  if (node.is("conv2d_weight_grad")) return pair("kernel");
  const Shape& kernel = graph.spec(node.inputs[1]).shape;
  return {kernel[0], kernel[1]};
}

// No window may lie in padding altogether: engines need not know such windows.
bool fits(const Graph& graph, const Node& node, const Pads& frame) {
  std::array<int64_t, 2> window = window_of(graph, node);
  Ints dilation = node.attrs.get_or<Ints>("dilation", {1, 1});
  Pads pads = enlarged(node, frame);
  for (size_t side = 0; side < 4; ++side)
    if (pads[side] > dilation[side / 2] * (window[side / 2] - 1)) return false;
  return true;
}

// Padding of max_pool2d is below every number, so a frame of zeros is the same only around numbers
// that are not below zero. Where zeros tie, the gradient goes to the image instead of the frame, to
// a zero that relu's own gradient then stops.
bool comes_from_relu(const Graph& graph, int value) {
  const Node* node = graph.producer(value);
  if (node != nullptr && node->is("cast")) return comes_from_relu(graph, node->inputs[0]);
  return node != nullptr && node->is("unary", "relu");
}

// What a slice cuts off the sides of an image; none if it cuts the batch or the channels too.
std::optional<Pads> cut_by(const Graph& graph, const Node& slice) {
  const auto& begin = slice.attrs.get<Ints>("begin");
  const Shape& whole = graph.spec(slice.inputs[0]).shape;
  const Shape& part = graph.spec(slice.outputs[0]).shape;
  if (whole.rank() != 4 || part[0] != whole[0] || part[3] != whole[3]) return std::nullopt;
  return Pads{begin[1], whole[1] - begin[1] - part[1], begin[2], whole[2] - begin[2] - part[2]};
}

// The slice that alone reads `value` and cuts `frame` off it; else null.
const Node* cut_of(const Graph& graph, int value, const Pads& frame, const std::vector<int>& uses) {
  std::vector<size_t> readers = readers_of(graph, value);
  if (uses[size_t(value)] != 1 || readers.size() != 1) return nullptr;
  const Node& reader = graph.nodes()[readers[0]];
  return reader.is("slice") && cut_by(graph, reader) == frame ? &reader : nullptr;
}

bool takes(const Graph& graph, const Node& reader, const Node& pad, const std::vector<int>& uses) {
  int padded = pad.outputs[0];
  Pads frame = frame_of(pad);
  if (reader.inputs[0] != padded || std::ranges::count(reader.inputs, padded) != 1) return false;
  if (reader.is("conv2d") || reader.is("conv2d_weight_grad")) return fits(graph, reader, frame);
  bool pools = reader.is("max_pool2d"), pool_gradient = reader.is("max_pool2d_grad");
  return (pools || pool_gradient) && fits(graph, reader, frame) &&
         comes_from_relu(graph, pad.inputs[0]) &&
         (pools || cut_of(graph, reader.outputs[0], frame, uses) != nullptr);
}

// --- rewriting ---

void enlarge(Node& node, const Pads& frame) {
  Pads pads = enlarged(node, frame);
  node.attrs.set("pads", Ints(pads.begin(), pads.end()));
}

// The node gives at once what `slice` made of its result.
void give_what_is_cut(Graph& graph, size_t node, const Node& slice) {
  int cut = slice.outputs[0];
  int given = graph.add_value(graph.spec(cut), int(node));
  graph.mutable_nodes()[node].outputs[0] = given;
  graph.replace_uses(cut, given);
}

// cast(pad(x)) → pad(cast(x)), so that mixed precision leaves the pad next to what reads it.
bool pad_after_cast(Graph& graph, size_t at, const std::vector<int>& uses) {
  Node& pad = graph.mutable_nodes()[at];
  if (uses[size_t(pad.outputs[0])] != 1) return false;
  std::vector<size_t> readers = readers_of(graph, pad.outputs[0]);
  if (readers.size() != 1 || !graph.nodes()[readers[0]].is("cast")) return false;
  Node& cast = graph.mutable_nodes()[readers[0]];
  TensorSpec small = {graph.spec(cast.outputs[0]).dtype, graph.spec(pad.inputs[0]).shape};
  std::swap(pad.op, cast.op);
  std::swap(pad.attrs, cast.attrs);
  std::swap(pad.scope, cast.scope);
  pad.outputs[0] = cast.inputs[0] = graph.add_value(small, int(at));
  return true;
}

bool fold_at(Graph& graph, size_t at, const std::vector<int>& uses) {
  const Node pad = graph.nodes()[at];
  std::vector<size_t> readers = readers_of(graph, pad.outputs[0]);
  bool all_take = std::ranges::all_of(
      readers, [&](size_t i) { return takes(graph, graph.nodes()[i], pad, uses); });
  if (!all_take || uses[size_t(pad.outputs[0])] != int(readers.size())) return false;
  Pads frame = frame_of(pad);
  for (size_t i : readers) {
    Node& reader = graph.mutable_nodes()[i];
    if (reader.is("max_pool2d_grad"))
      give_what_is_cut(graph, i, *cut_of(graph, reader.outputs[0], frame, uses));
    enlarge(reader, frame);
    reader.inputs[0] = pad.inputs[0];
  }
  return true;
}

// slice(conv2d_input_grad(dy, w)) → the gradient of the part alone.
bool cut_gradient_at(Graph& graph, const Node& slice, const std::vector<int>& uses) {
  const Node* gradient = graph.producer(slice.inputs[0]);
  if (gradient == nullptr || !gradient->is("conv2d_input_grad") ||
      uses[size_t(slice.inputs[0])] != 1)
    return false;
  std::optional<Pads> frame = cut_by(graph, slice);
  if (!frame || !fits(graph, *gradient, *frame)) return false;
  auto index = size_t(gradient - graph.nodes().data());
  Node& node = graph.mutable_nodes()[index];
  const Shape& part = graph.spec(slice.outputs[0]).shape;
  enlarge(node, *frame);
  node.attrs.set("input_shape", Ints(part.begin(), part.end()));
  give_what_is_cut(graph, index, slice);
  return true;
}

}  // namespace

int fold_padding(Graph& graph) {
  std::vector<int> uses = graph.use_counts();
  bool moved = false;
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (is_zero_frame(graph, graph.nodes()[i])) moved |= pad_after_cast(graph, i, uses);
  if (moved) {
    graph.remove_dead_nodes();  // also tells the values where their nodes are now
    uses = graph.use_counts();
  }
  int folded = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (is_zero_frame(graph, graph.nodes()[i])) folded += fold_at(graph, i, uses);
  for (const Node& node : graph.nodes())
    if (node.is("slice")) cut_gradient_at(graph, node, uses);
  graph.remove_dead_nodes();
  return folded;
}

}  // namespace stoker::passes
