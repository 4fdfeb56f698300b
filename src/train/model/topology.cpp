#include "train/model/topology.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/names.h"

namespace stoker {

namespace {

using Output = std::pair<const SketchNode*, int>;

Output place_of(const Value& value) {
  return {value.sketched()->node.get(), value.sketched()->output};
}

void check_ends(const char* what, const Values& values) {
  if (values.empty())
    throw ValueError(fmt::format("Model: expected at least one {}, got none", what));
  for (const Value& value : values)
    if (!value.defined() || value.sketched() == nullptr)
      throw ValueError(fmt::format("Model: an {} is not a value that began with Input()", what));
}

std::set<Output> input_places(const Values& inputs) {
  std::set<Output> places;
  for (const Value& input : inputs)
    if (!places.insert(place_of(input)).second) throw ValueError("Model: an input was given twice");
  return places;
}

// The nodes that the outputs need, given the inputs: walked backwards, so that what lies behind an
// input that is itself computed stays out.
std::vector<std::shared_ptr<const SketchNode>> needed_nodes(const Values& outputs,
                                                            const std::set<Output>& given) {
  std::set<const SketchNode*> needed;
  auto need = [&](const Value& value) {
    if (value.sketched() && !given.contains(place_of(value)))
      needed.insert(value.sketched()->node.get());
  };
  std::ranges::for_each(outputs, need);
  std::vector<std::shared_ptr<const SketchNode>> nodes, order = topological(outputs);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    if (!needed.contains(node->get())) continue;
    if (const auto* input = std::get_if<SketchInput>(&(*node)->what))
      throw ValueError(fmt::format(
          "Model: the outputs depend on Input \"{}\", which is not among the inputs", input->name));
    std::ranges::for_each((*node)->inputs, need);
    nodes.push_back(*node);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

std::string node_name(const SketchNode& node) {
  if (const Layer* layer = layer_of(node)) return layer->name();
  if (const auto* input = std::get_if<SketchInput>(&node.what))
    return input->name.empty() ? "input_layer" : input->name;
  return std::get<SketchOp>(node.what).op;
}

std::vector<std::string> end_names(const Values& values) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const Value& value : values)
    names.push_back(unique_name(node_name(*value.sketched()->node), taken));
  return names;
}

}  // namespace

TensorSpec Topology::input_row(size_t index) const {
  const TensorSpec& spec = inputs[index].spec();
  return {spec.dtype, spec.shape.drop_front()};
}

int64_t Topology::batch_or(int64_t any) const {
  for (const Value& input : inputs)
    if (input.shape()[0] > 0) return input.shape()[0];
  return any;
}

const LayerCall* call_of(const SketchNode& node) {
  const auto* callable = std::get_if<std::shared_ptr<Callable>>(&node.what);
  return callable ? dynamic_cast<const LayerCall*>(callable->get()) : nullptr;
}

const Layer* layer_of(const SketchNode& node) {
  const LayerCall* call = call_of(node);
  return call ? &call->layer : nullptr;
}

void name_layers(const std::vector<Layer>& layers) {
  std::set<std::string> taken;
  auto has_name = [](const Layer& layer) {
    return !layer.name().empty() && !layer.base().has_borrowed_name();
  };
  std::set<const LayerBase*> seen;  // a Sequential may hold a layer twice
  for (const Layer& layer : layers)
    if (seen.insert(&layer.base()).second && has_name(layer) && !taken.insert(layer.name()).second)
      throw ValueError(
          fmt::format("two layers of one model are named \"{0}\"; give one of them another .name, "
                      "or rename it: layer.base().set_name(\"{0}_2\")",
                      layer.name()));
  for (const Layer& layer : layers) {
    if (!has_name(layer))
      layer.base().set_name(unique_name(snake_case(layer.base().kind()), taken));
    layer.base().take_place("");
  }
}

Topology make_topology(const Values& inputs, const Values& outputs) {
  check_ends("input", inputs);
  check_ends("output", outputs);
  Topology topology;
  topology.inputs = inputs;
  topology.outputs = outputs;
  topology.nodes = needed_nodes(outputs, input_places(inputs));
  std::set<const LayerBase*> seen;
  for (const auto& node : topology.nodes)
    if (const Layer* layer = layer_of(*node); layer && seen.insert(&layer->base()).second)
      topology.layers.push_back(*layer);
  name_layers(topology.layers);
  topology.input_names = end_names(inputs);
  topology.output_names = end_names(outputs);
  return topology;
}

}  // namespace stoker
