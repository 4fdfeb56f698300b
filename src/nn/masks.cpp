#include "nn/masks.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/graph.h"
#include "graph/placement.h"

namespace stoker {

namespace {

struct MaskNotes {
  std::unordered_map<int, Value> of;  // by value id
  std::vector<std::string> dropped_by;
};

bool begins(const Shape& mask, const Shape& value) {
  if (mask.rank() > value.rank()) return false;
  for (int axis = 0; axis < mask.rank(); ++axis)
    if (mask[axis] != value[axis] && mask[axis] != 1) return false;
  return true;
}

}  // namespace

Value mask_of(const Value& value) {
  if (value.traced() == nullptr) return {};
  const auto& masks = value.traced()->graph->notes<MaskNotes>().of;
  auto found = masks.find(value.traced()->id);
  return found == masks.end() ? Value() : found->second;
}

Values masks_of(const Values& values) {
  Values masks;
  masks.reserve(values.size());
  for (const Value& value : values) masks.push_back(mask_of(value));
  return masks;
}

void set_mask(const Value& value, const Value& mask, const std::string& who) {
  if (!mask.defined()) return;
  if (value.traced() == nullptr)
    throw Error(
        fmt::format("{}: only a value of a graph that is being traced can carry a mask", who));
  if (!begins(mask.shape(), value.shape()))
    throw ShapeError(
        fmt::format("{}: a mask of shape {} does not fit a value of shape {}; expected "
                    "its first extents, such as [B, T]",
                    who, to_string(mask.shape()), to_string(value.shape())));
  Graph& graph = *value.traced()->graph;
  graph.notes<MaskNotes>().of[value.traced()->id] = as_mask(place(graph, mask));
}

void copy_mask(const Value& from, const Value& to) {
  if (Value mask = mask_of(from); mask.defined())
    to.traced()->graph->notes<MaskNotes>().of.try_emplace(to.traced()->id, mask);
}

Value as_mask(const Value& mask) {
  return mask.dtype() == DType::bool_ ? mask : ops::not_equal(mask, 0);
}

void mask_outputs(Graph& graph, const LayerBase& layer, const Values& inputs, const Values& masks,
                  const Values& outputs) {
  Values computed = layer.compute_mask(inputs, masks);
  bool carried = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i < computed.size() && !mask_of(outputs[i]).defined())
      set_mask(outputs[i], computed[i], layer.title());
    carried |= mask_of(outputs[i]).defined();
  }
  if (layer.supports_masking() || carried || std::ranges::none_of(masks, &Value::defined)) return;
  std::vector<std::string>& dropped = graph.notes<MaskNotes>().dropped_by;
  if (std::ranges::find(dropped, layer.title()) == dropped.end()) dropped.push_back(layer.title());
}

const std::vector<std::string>& layers_that_dropped_masks(Graph& graph) {
  return graph.notes<MaskNotes>().dropped_by;
}

}  // namespace stoker
