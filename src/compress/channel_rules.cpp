// What each kind of layer does with channels. A kind that is not listed keeps those that it meets.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <stoker/layer_options.h>

#include "compress/channels.h"
#include "nn/layer_factory.h"

namespace stoker::compress {

namespace {

bool starts_with_any(const std::string& kind, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return kind.starts_with(prefix); });
}

// Layers without weights whose every output channel comes from the input channel of that index.
bool passes_channels(const std::string& kind) {
  static constexpr std::array<std::string_view, 11> kKinds = {"Dropout",
                                                              "GaussianNoise",
                                                              "GaussianDropout",
                                                              "AlphaDropout",
                                                              "Identity",
                                                              "ReLU",
                                                              "LeakyReLU",
                                                              "ELU",
                                                              "RepeatVector",
                                                              "StochasticDepth",
                                                              "ActivityRegularization"};
  return std::ranges::find(kKinds, kind) != kKinds.end() ||
         starts_with_any(
             kind, {"SpatialDropout", "MaxPooling", "AveragePooling", "GlobalMax", "GlobalAverage",
                    "AdaptiveMax", "AdaptiveAverage", "ZeroPadding", "Cropping", "UpSampling"});
}

bool merges(const std::string& kind) {
  static constexpr std::array<std::string_view, 7> kKinds = {
      "Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "CustomScaleLayer"};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

// The channels of a value whose last axis holds those of `channels` this many times.
Channels repeated(const Channels& channels, int64_t times) {
  Channels all;
  for (int64_t i = 0; i < times; ++i) all.insert(all.end(), channels.begin(), channels.end());
  return all;
}

// Each channel this many times in a row.
Channels each_repeated(const Channels& channels, int64_t times) {
  Channels all;
  for (int channel : channels) all.insert(all.end(), size_t(times), channel);
  return all;
}

class Rules {
 public:
  Rules(ChannelMap& map, const LayerUse& use)
      : map_(map),
        use_(use),
        layer_(use.layer.base()),
        kind_(layer_.kind()),
        config_(layer_.config()) {}

  std::vector<Channels> outputs() {
    if (is_own_class(layer_)) return keep(fmt::format("{} is a class of the program", title()));
    if (kind_ == "Concatenate") return concatenate();
    if (merges(kind_)) return merge();
    bool one = use_.inputs.size() == 1 && use_.output_specs.size() == 1;
    if (one && kind_ == "Embedding") return embedding();
    if (starts_with_any(kind_, {"LSTM", "GRU", "SimpleRNN"})) return recurrent();
    if (!one || use_.inputs[0].empty()) return keep(unknown());
    if (passes_channels(kind_)) return {input()};
    if (kind_ == "Activation") return {activated(input())};
    if (kind_ == "Flatten" || kind_ == "Reshape") return reshape();
    if (kind_ == "Permute") return permute();
    if (kind_ == "Dense") return affine("units", -2, -1);
    if (starts_with_any(kind_, {"DepthwiseConv"})) return depthwise();
    if (starts_with_any(kind_, {"SeparableConv"})) return separable();
    if (kind_.ends_with("Transpose")) return affine("filters", -1, -2);
    if (kind_ == "Conv1D" || kind_ == "Conv2D" || kind_ == "Conv3D") return convolution();
    return one_per_channel();
  }

 private:
  const Channels& input() const { return use_.inputs[0]; }
  std::string title() const { return layer_.title(); }
  std::string unknown() const { return fmt::format("{} uses them as a whole", title()); }

  Variable weight(std::string_view local_name) const {
    for (const Variable& each : layer_.weights())
      if (each.name().ends_with(fmt::format("/{}", local_name))) return each;
    return {};
  }

  // The channels stay, those that come in and those that go out.
  std::vector<Channels> keep(const std::string& reason) {
    for (const Channels& channels : use_.inputs) map_.fix(channels, reason);
    std::vector<Channels> results;
    for (const TensorSpec& spec : use_.output_specs) {
      results.push_back(map_.fresh(channel_count(spec)));
      map_.fix(results.back(), reason);
    }
    return results;
  }

  // An activation that looks at all channels of a place at once.
  Channels activated(const Channels& channels) {
    auto name = config_.get_or("activation", std::string());
    bool apart = !name.ends_with("softmax") && name != ActivationFunction::kCustom &&
                 name != "sparsemax" && name != "glu";
    if (!apart) map_.fix(channels, fmt::format("the activation of {} mixes them", title()));
    return channels;
  }

  void along(const Variable& weight, int axis, AxisRole role, const Channels& channels) {
    if (!weight.defined()) return;
    map_.add_axis(weight, axis < 0 ? axis + weight.shape().rank() : axis, role, channels);
  }

  Channels made_by(const Variable& kernel, int axis) {
    int at = axis + kernel.shape().rank();
    Channels known = map_.known(kernel, at);
    Channels made = known.empty() ? map_.fresh(kernel.shape()[at]) : known;
    along(kernel, at, AxisRole::makes, made);
    along(weight("bias"), 0, AxisRole::makes, made);
    return made;
  }

  std::vector<Channels> affine(const char* option, int reads, int makes) {
    Variable kernel = weight("kernel");
    along(kernel, reads, AxisRole::reads, input());
    Channels made = made_by(kernel, makes);
    map_.add_option(layer_, option, made);
    return {activated(made)};
  }

  std::vector<Channels> convolution() {
    auto groups = config_.get_or<int64_t>("groups", 1);
    if (groups == 1) return affine("filters", -2, -1);
    bool one_each = groups == int64_t(input().size()) && groups == config_.get<int64_t>("filters");
    if (!one_each)
      return keep(fmt::format("{} shares them among {} groups of equal size", title(), groups));
    along(weight("kernel"), -1, AxisRole::follows, input());
    along(weight("bias"), 0, AxisRole::follows, input());
    map_.add_option(layer_, "filters", input());
    map_.add_option(layer_, "groups", input());
    return {activated(input())};
  }

  std::vector<Channels> depthwise() {
    Variable kernel = weight("kernel");
    along(kernel, -2, AxisRole::follows, input());
    Channels made = each_repeated(input(), kernel.shape()[-1]);
    along(weight("bias"), 0, AxisRole::follows, made);
    return {activated(made)};
  }

  std::vector<Channels> separable() {
    Variable kernel = weight("depthwise_kernel"), pointwise = weight("pointwise_kernel");
    along(kernel, -2, AxisRole::follows, input());
    along(pointwise, -2, AxisRole::reads, each_repeated(input(), kernel.shape()[-1]));
    Channels made = made_by(pointwise, -1);
    map_.add_option(layer_, "filters", made);
    return {activated(made)};
  }

  std::vector<Channels> embedding() {
    Channels made = made_by(weight("embeddings"), -1);
    map_.fix(use_.inputs[0], unknown());
    map_.add_option(layer_, "output_dim", made);
    return {made};
  }

  // Its units stay; the channels that it reads may go.
  std::vector<Channels> recurrent() {
    Variable kernel = weight("kernel");
    bool reads = use_.inputs.size() == 1 && kernel.defined() && !use_.inputs[0].empty() &&
                 kernel.shape()[0] == int64_t(use_.inputs[0].size());
    if (!reads) return keep(unknown());
    along(kernel, 0, AxisRole::reads, input());
    std::vector<Channels> results;
    for (const TensorSpec& spec : use_.output_specs) {
      results.push_back(map_.fresh(channel_count(spec)));
      map_.fix(results.back(), fmt::format("{} has them as units of its state", title()));
    }
    return results;
  }

  // Parameters along the last axis only, one per channel.
  std::vector<Channels> one_per_channel() {
    bool batch = kind_ == "BatchNormalization";
    bool mixes = kind_ == "LayerNormalization" || kind_ == "RMSNormalization";
    if (!batch && !mixes && kind_ != "LayerScale" && kind_ != "PReLU") return keep(unknown());
    auto count = int64_t(input().size());
    int last = use_.input_specs[0].shape.rank() - 1;
    if (const Attr* axis = config_.find("axis"); axis != nullptr && !is_last(*axis, last))
      return keep(fmt::format("{} normalises along another axis", title()));
    for (const Variable& each : layer_.weights())
      if (each.shape().rank() > 0 && each.shape()[-1] == count)
        along(each, -1, AxisRole::follows, input());
    if (mixes) map_.mix(input(), title());
    return {input()};
  }

  static bool is_last(const Attr& axis, int last) {
    if (const auto* one = std::get_if<int64_t>(&axis)) return *one == -1 || *one == last;
    const auto* all = std::get_if<Ints>(&axis);
    return all != nullptr && all->size() == 1 && ((*all)[0] == -1 || (*all)[0] == last);
  }

  std::vector<Channels> concatenate() {
    auto axis = config_.get_or<int64_t>("axis", -1);
    int rank = use_.output_specs[0].shape.rank();
    bool known = std::ranges::none_of(use_.inputs, &Channels::empty);
    if (!known) return keep(unknown());
    Channels joined;
    bool last = axis == -1 || axis == rank - 1;
    for (const Channels& one : use_.inputs) {
      if (last)
        joined.insert(joined.end(), one.begin(), one.end());
      else
        map_.unite(input(), one);
    }
    return {last ? joined : input()};
  }

  std::vector<Channels> merge() {
    auto count = size_t(channel_count(use_.output_specs[0]));
    if (count == 0) return keep(unknown());
    Channels merged;
    for (const Channels& one : use_.inputs) {
      if (one.size() != count) {
        map_.fix(one, fmt::format("{} has them beside other channels", title()));
        continue;
      }
      if (!merged.empty()) map_.unite(merged, one);
      merged = one;
    }
    return merged.empty() ? keep(unknown()) : std::vector<Channels>{merged};
  }

  // Channels are the fastest axis before and after: several places become one, or one several.
  std::vector<Channels> reshape() {
    int64_t before = int64_t(input().size()), after = channel_count(use_.output_specs[0]);
    if (after == 0 || (after % before != 0 && before % after != 0)) return keep(unknown());
    Channels made = after >= before ? repeated(input(), after / before)
                                    : Channels(input().begin(), input().begin() + after);
    for (int64_t begin = after; begin + after <= before; begin += after)
      map_.unite(made, Channels(input().begin() + begin, input().begin() + begin + after));
    if (kind_ == "Reshape") map_.add_option(layer_, "target_shape", made);
    return {made};
  }

  std::vector<Channels> permute() {
    Ints dims = config_.get<Ints>("dims");
    if (dims.back() != int64_t(dims.size())) return keep(unknown());
    return {input()};
  }

  ChannelMap& map_;
  const LayerUse& use_;
  const LayerBase& layer_;
  std::string kind_;
  Attrs config_;
};

}  // namespace

std::vector<Channels> layer_channels(ChannelMap& map, const LayerUse& use) {
  return Rules(map, use).outputs();
}

}  // namespace stoker::compress
