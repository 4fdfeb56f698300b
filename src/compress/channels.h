// Which channels of a model belong together. A channel is an index along the last axis of a value.
// Where two layers must keep or lose a channel at the same time (a residual add, batch
// normalisation, a depthwise convolution), it is one channel here, whatever the number of weights
// that it runs through. Layers of nested models are walked like those of the model.
//
// Every axis of a weight that runs along channels is listed as a ChannelAxis. A layer that mixes
// channels in a way that is not known here, and the ends of the model, fix theirs: they stay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <stoker/model.h>

namespace stoker::compress {

// Of one axis: the channel at each index. Empty: the extent is unknown, or is none of channels.
using Channels = std::vector<int>;

enum class AxisRole : uint8_t {
  makes,    // the outputs of a kernel, and its bias
  reads,    // the inputs of a kernel
  follows,  // one parameter per channel: batch normalisation, depthwise kernels
};

struct ChannelAxis {
  std::string name;  // of the weight, as named_weights() has it
  Variable weight;
  int axis;
  AxisRole role;
  Channels channels;
};

// An option of a layer that is a number of channels.
struct WidthOption {
  const LayerBase* layer;
  std::string option;  // "filters"; "target_shape": its last extent
  Channels channels;
};

class ChannelMap {
 public:
  // Error where the model has no inputs yet.
  explicit ChannelMap(const Model& model, const char* action);

  const std::vector<ChannelAxis>& axes() const { return axes_; }
  const std::vector<WidthOption>& options() const { return options_; }

  // The number that stands for all channels that are one with it.
  int root(int channel) const;
  // Why the channel stays; "": it may go.
  const std::string& fixed(int channel) const;
  // The layer that normalises over the channel and others; "": none.
  const std::string& mixed(int channel) const;

  // Channels that compete with each other: those that the same kernels make. May hold fixed ones.
  struct Group {
    std::vector<std::string> kernels;  // their names, in the order of the model
    std::vector<int> roots;
  };
  std::vector<Group> groups() const;

  // --- for the rules of layers ---
  Channels fresh(int64_t count);
  void unite(const Channels& a, const Channels& b);  // of equal lengths
  void fix(const Channels& channels, const std::string& reason);
  void mix(const Channels& channels, const std::string& layer);
  // Also unites with what an earlier call of a shared layer said of the axis.
  void add_axis(const Variable& weight, int axis, AxisRole role, const Channels& channels);
  void add_option(const LayerBase& layer, const std::string& option, const Channels& channels);
  // What the axis was said to be by an earlier call; empty: nothing yet.
  Channels known(const Variable& weight, int axis) const;

 private:
  mutable std::vector<int> parent_;
  std::vector<std::string> fixed_, mixed_;  // by root
  std::vector<ChannelAxis> axes_;
  std::vector<WidthOption> options_;
  std::map<const void*, std::string> names_;  // of weights
};

// The channels of a layer's outputs; what it says of its weights goes into the map.
struct LayerUse {
  const Layer& layer;
  std::vector<Channels> inputs;
  std::vector<TensorSpec> input_specs, output_specs;
};
std::vector<Channels> layer_channels(ChannelMap& map, const LayerUse& use);

// The configuration of a layer whose axes along channels have other extents.
Attrs with_extents(const Layer& layer, const ChannelMap& map,
                   const std::function<int64_t(const Channels&)>& extent);

// The extent of the last axis where it is known and not the batch; else 0.
int64_t channel_count(const TensorSpec& spec);

}  // namespace stoker::compress
