#include "compress/channels.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "graph/op.h"
#include "nn/layer_factory.h"
#include "train/model/model_base.h"
#include "train/model/weight_paths.h"

namespace stoker::compress {

namespace {

// Follows the channels from the inputs of a model to its outputs.
class Walk {
 public:
  Walk(ChannelMap& map, const char* action) : map_(map), action_(action) {}

  std::vector<Channels> model(const ModelBase& base, const std::vector<Channels>& inputs) {
    const Topology& topology = base.topology(action_);
    std::map<Place, Channels> there;
    for (size_t i = 0; i < inputs.size(); ++i) there[place(topology.inputs[i])] = inputs[i];
    for (const auto& node : topology.nodes) {
      LayerUse use = use_of(*node, there);
      std::vector<Channels> results = call_of(*node) ? call(use) : op(*node, use);
      for (size_t i = 0; i < results.size(); ++i) there[{node.get(), int(i)}] = results[i];
    }
    std::vector<Channels> outputs;
    for (const Value& output : topology.outputs) outputs.push_back(there.at(place(output)));
    return outputs;
  }

 private:
  using Place = std::pair<const SketchNode*, int>;
  static Place place(const Value& value) {
    return {value.sketched()->node.get(), value.sketched()->output};
  }

  LayerUse use_of(const SketchNode& node, const std::map<Place, Channels>& there) {
    static const Layer kNone;
    const LayerCall* call = call_of(node);
    LayerUse use{call ? call->layer : kNone, {}, {}, node.outputs};
    size_t count = node.inputs.size() - (call ? call->masked.size() : 0);
    for (size_t i = 0; i < count; ++i) {
      const Value& input = node.inputs[i];
      use.inputs.push_back(input.sketched() ? there.at(place(input)) : Channels());
      use.input_specs.push_back(input.spec());
    }
    return use;
  }

  std::vector<Channels> call(const LayerUse& use) {
    if (const ModelBase* inner = ModelAccess::base(use.layer)) return model(*inner, use.inputs);
    return layer_channels(map_, use);
  }

  // An op outside of layers: elementwise ones keep channels apart.
  std::vector<Channels> op(const SketchNode& node, const LayerUse& use) {
    const auto& what = std::get<SketchOp>(node.what);
    const OpTraits& traits = OpRegistry::get().find(what.op).traits;
    int64_t count = channel_count(node.outputs[0]);
    bool apart = traits.elementwise && node.outputs.size() == 1 && count > 0;
    Channels same;
    for (size_t i = 0; apart && i < use.inputs.size(); ++i) {
      bool along = int64_t(use.inputs[i].size()) == count;
      bool beside = use.inputs[i].empty() && use.input_specs[i].shape.elements() == 1;
      apart = along || beside;
      if (!along || !apart) continue;
      if (!same.empty()) map_.unite(same, use.inputs[i]);
      same = use.inputs[i];
    }
    if (apart && !same.empty()) return {same};
    std::string reason = fmt::format("op \"{}\" uses its channels", what.op);
    for (const Channels& input : use.inputs) map_.fix(input, reason);
    std::vector<Channels> results;
    for (const TensorSpec& spec : node.outputs) {
      results.push_back(map_.fresh(channel_count(spec)));
      map_.fix(results.back(), reason);
    }
    return results;
  }

  ChannelMap& map_;
  const char* action_;
};

}  // namespace

int64_t channel_count(const TensorSpec& spec) {
  return spec.shape.rank() >= 2 && spec.shape[-1] > 0 ? spec.shape[-1] : 0;
}

Attrs with_extents(const Layer& layer, const ChannelMap& map,
                   const std::function<int64_t(const Channels&)>& extent) {
  Attrs config = full_config(layer.base());
  for (const WidthOption& option : map.options()) {
    if (option.layer != &layer.base()) continue;
    int64_t width = extent(option.channels);
    if (option.option != "target_shape") {
      config.set(option.option, width);
      continue;
    }
    auto target = config.get<Ints>(option.option);
    if (target.back() != -1) target.back() = width;
    config.set(option.option, target);
  }
  return config;
}

ChannelMap::ChannelMap(const Model& model, const char* action) {
  const ModelBase& base = ModelAccess::base(model);
  for (const auto& [name, weight] : named_weights(base)) names_[weight.id()] = name;
  std::vector<Channels> inputs;
  for (const Value& input : base.topology(action).inputs) {
    inputs.push_back(fresh(channel_count(input.spec())));
    fix(inputs.back(), "an input of the model has them");
  }
  for (const Channels& output : Walk(*this, action).model(base, inputs))
    fix(output, "an output of the model has them");
}

Channels ChannelMap::fresh(int64_t count) {
  Channels made(static_cast<size_t>(count));
  std::iota(made.begin(), made.end(), int(parent_.size()));
  parent_.insert(parent_.end(), made.begin(), made.end());
  fixed_.resize(parent_.size());
  mixed_.resize(parent_.size());
  return made;
}

int ChannelMap::root(int channel) const {
  while (parent_[size_t(channel)] != channel) {
    int& up = parent_[size_t(channel)];
    up = parent_[size_t(up)];
    channel = up;
  }
  return channel;
}

const std::string& ChannelMap::fixed(int channel) const { return fixed_[size_t(root(channel))]; }
const std::string& ChannelMap::mixed(int channel) const { return mixed_[size_t(root(channel))]; }

void ChannelMap::unite(const Channels& a, const Channels& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    auto first = size_t(root(a[i])), second = size_t(root(b[i]));
    if (first == second) continue;
    parent_[second] = int(first);
    if (fixed_[first].empty()) fixed_[first] = fixed_[second];
    if (mixed_[first].empty()) mixed_[first] = mixed_[second];
  }
}

void ChannelMap::fix(const Channels& channels, const std::string& reason) {
  for (int channel : channels)
    if (std::string& why = fixed_[size_t(root(channel))]; why.empty()) why = reason;
}

void ChannelMap::mix(const Channels& channels, const std::string& layer) {
  for (int channel : channels)
    if (std::string& by = mixed_[size_t(root(channel))]; by.empty()) by = layer;
}

Channels ChannelMap::known(const Variable& weight, int axis) const {
  for (const ChannelAxis& each : axes_)
    if (each.weight == weight && each.axis == axis) return each.channels;
  return {};
}

void ChannelMap::add_axis(const Variable& weight, int axis, AxisRole role,
                          const Channels& channels) {
  if (Channels before = known(weight, axis); !before.empty()) return unite(before, channels);
  axes_.push_back({names_.at(weight.id()), weight, axis, role, channels});
}

void ChannelMap::add_option(const LayerBase& layer, const std::string& option,
                            const Channels& channels) {
  for (const WidthOption& each : options_)
    if (each.layer == &layer && each.option == option) return;
  options_.push_back({&layer, option, channels});
}

std::vector<ChannelMap::Group> ChannelMap::groups() const {
  std::map<int, std::vector<size_t>> makers;  // root → kernels, as indices of axes_
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].role != AxisRole::makes || axes_[i].weight.shape().rank() < 2) continue;
    for (int channel : axes_[i].channels) {
      std::vector<size_t>& all = makers[root(channel)];
      if (all.empty() || all.back() != i) all.push_back(i);
    }
  }
  std::map<std::vector<size_t>, std::vector<int>> by_makers;
  for (const auto& [root, kernels] : makers) by_makers[kernels].push_back(root);
  std::vector<Group> groups;
  for (const auto& [kernels, roots] : by_makers) {
    Group group{.kernels = {}, .roots = roots};
    for (size_t kernel : kernels) group.kernels.push_back(axes_[kernel].name);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace stoker::compress
