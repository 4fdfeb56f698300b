#include "nn/layer_call.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/graph.h"
#include "graph/sketch.h"
#include "nn/called_weights.h"
#include "nn/masks.h"
#include "nn/watched_layers.h"

namespace stoker {

namespace {

void check_not_running(const LayerBase& layer, const Graph::Call* call) {
  std::string chain = layer.label();
  for (; call != nullptr; call = call->outer) {
    chain = call->layer.label() + " → " + chain;
    if (&call->layer == &layer)
      throw Error(fmt::format("{} \"{}\" calls itself ({}); a layer cannot be part of itself",
                              layer.kind(), layer.label(), chain));
  }
}

void show_watched(Graph& graph, const LayerBase& layer, const Values& outputs) {
  auto& watched = graph.notes<WatchedLayers>().outputs;
  auto found = watched.find(&layer);
  if (found != watched.end() && !found->second.defined() && !outputs.empty())
    found->second = outputs[0];
}

std::vector<int> mask_ranks_of(const Values& values) {
  std::vector<int> ranks;
  for (const Value& mask : masks_of(values))
    ranks.push_back(mask.defined() ? mask.shape().rank() : 0);
  return ranks;
}

void stand_in_masks(Graph& graph, const Values& inputs, const std::vector<int>& ranks,
                    Values& masks) {
  for (size_t i = 0; i < inputs.size() && i < ranks.size(); ++i) {
    if (ranks[i] == 0 || masks[i].defined()) continue;
    Shape shape(inputs[i].shape().dims().first(size_t(ranks[i])));
    masks[i] = graph.input("trial mask", {DType::bool_, shape});
    set_mask(inputs[i], masks[i], "trial");
  }
}

}  // namespace

void LayerCall::expect_masks_of(const Values& inputs) {
  for (const Value& input : inputs) {
    mask_ranks.push_back(0);
    if (input.sketched() == nullptr) continue;
    const auto& [node, output] = *input.sketched();
    const auto* callable = std::get_if<std::shared_ptr<Callable>>(&node->what);
    const auto* call = callable ? dynamic_cast<const LayerCall*>(callable->get()) : nullptr;
    if (call != nullptr && size_t(output) < call->output_mask_ranks.size())
      mask_ranks.back() = call->output_mask_ranks[size_t(output)];
  }
}

Values LayerCall::with_masks(const Values& inputs, const Values& masks) {
  if (masks.size() > inputs.size())
    throw ValueError(fmt::format("{}: got {} masks for {} inputs", layer.base().title(),
                                 masks.size(), inputs.size()));
  Values operands = inputs;
  for (size_t i = 0; i < masks.size(); ++i) {
    if (!masks[i].defined()) continue;
    masked.push_back(i);
    operands.push_back(masks[i]);
  }
  return operands;
}

Values LayerCall::apply(Graph& graph, const Values& operands) {
  check_not_running(layer.base(), graph.call());
  if (graph.call() != nullptr) graph.call()->layer.adopt(layer.shared());
  Graph::Call call(graph, layer.base(), training.value_or(graph.training()));
  Values inputs(operands.begin(), operands.end() - int64_t(masked.size()));
  Values masks = masks_of(inputs);
  for (size_t i = 0; i < masked.size(); ++i)
    masks[masked[i]] = as_mask(operands[inputs.size() + i]);
  if (trial) stand_in_masks(graph, inputs, mask_ranks, masks);
  if (!trial || inputs.empty() || inputs[0].shape().rank() == 0) {
    Values outputs = layer.base().run(graph, inputs, masks, arguments);
    show_watched(graph, layer.base(), outputs);
    if (call.outer == nullptr) note_weights(graph, layer.base());
    if (trial) output_mask_ranks = mask_ranks_of(outputs);
    return outputs;
  }
  try {
    Values outputs = layer.base().run(graph, inputs, masks, arguments);
    output_mask_ranks = mask_ranks_of(outputs);
    return outputs;
  } catch (const ShapeError& error) {
    throw ShapeError(without_trial_batch(error.what()));
  }
}

}  // namespace stoker
