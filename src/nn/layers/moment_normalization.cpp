// RMSNormalization and GroupNormalization: written with reductions.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/transformer_layers.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct RMSNormalizationConfig : RMSNormalizationOptions {
  static constexpr const char* kKind = "RMSNormalization";
  static Fields<RMSNormalizationConfig> fields() {
    using C = RMSNormalizationConfig;
    return {{"axis", &C::axis, not_empty()}, {"epsilon", &C::epsilon}};
  }
};

class RMSNormalizationLayer : public Configured<SteadyLayer, RMSNormalizationConfig> {
 public:
  using Configured::Configured;

 protected:
  void build_for(const Shape& input) override {
    std::vector<int64_t> extents;
    for (int64_t axis : axes(input)) extents.push_back(input[int(axis)]);
    scale_ = add_weight("scale", Shape(std::span<const int64_t>(extents)), {.initializer = "ones"});
  }

  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    std::vector<int64_t> axes = this->axes(x.shape());
    Shape beside = x.shape();
    for (int axis = 0; axis < beside.rank(); ++axis)
      if (std::ranges::find(axes, axis) == axes.end()) beside.set(axis, 1);
    if (beside.elements() != scale_.shape().elements())
      fail_input(fmt::format("extents {} in the normalised axes, which it was built for",
                             to_string(scale_.shape())),
                 x.shape());
    Value wide = as_float32(x);
    Value squares = ops::mean(ops::square(wide), {.axes = axes, .keepdims = true});
    Value scaled = wide * ops::rsqrt(squares + options().epsilon);
    return ops::cast(scaled * ops::reshape(scale_, beside), x.dtype());
  }

 private:
  // Ascending, each once.
  std::vector<int64_t> axes(const Shape& input) const {
    std::vector<int64_t> found;
    for (int64_t axis : options().axis.list) found.push_back(resolve_axis(axis, input));
    std::ranges::sort(found);
    if (std::ranges::adjacent_find(found) != found.end()) fail_option("axis names an axis twice");
    return found;
  }

  Variable scale_;
};

struct GroupNormalizationConfig : GroupNormalizationOptions {
  static constexpr const char* kKind = "GroupNormalization";
  static Fields<GroupNormalizationConfig> fields() {
    using C = GroupNormalizationConfig;
    return {{"groups", &C::groups, {.check = at_least(-1)}},
            {"axis", &C::axis},
            {"epsilon", &C::epsilon},
            {"center", &C::center},
            {"scale", &C::scale},
            {"beta_initializer", &C::beta_initializer},
            {"gamma_initializer", &C::gamma_initializer},
            {"beta_regularizer", &C::beta_regularizer},
            {"gamma_regularizer", &C::gamma_regularizer},
            {"beta_constraint", &C::beta_constraint, {.sparse = true}},
            {"gamma_constraint", &C::gamma_constraint, {.sparse = true}}};
  }
};

class GroupNormalizationLayer : public Configured<SteadyLayer, GroupNormalizationConfig> {
 public:
  using Configured::Configured;

 protected:
  void build_for(const Shape& input) override {
    int64_t channels = input[resolve_axis(options().axis, input)];
    if (channels < 1) fail_input(fmt::format("known channels in axis {}", options().axis), input);
    groups_ = options().groups == -1 ? channels : options().groups;
    if (groups_ < 1 || channels % groups_ != 0)
      fail_input(fmt::format("channels in axis {} that are a multiple of {} groups", options().axis,
                             groups_),
                 input, "set groups to a divisor of them, or to -1");
    if (options().scale)
      gamma_ = add_weight("gamma", {channels},
                          {.initializer = options().gamma_initializer,
                           .regularizer = options().gamma_regularizer,
                           .constraint = options().gamma_constraint});
    if (options().center)
      beta_ = add_weight("beta", {channels},
                         {.initializer = options().beta_initializer,
                          .regularizer = options().beta_regularizer,
                          .constraint = options().beta_constraint});
    channels_ = channels;
  }

  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    int axis = resolve_axis(options().axis, x.shape());
    if (x.shape()[axis] != channels_)
      fail_input(
          fmt::format("{} channels in axis {}, which it was built for", channels_, options().axis),
          x.shape());
    // [B, before, groups, channels / groups, after]: neighbours of an axis stay neighbours.
    int64_t before = 1, after = 1;
    for (int i = 1; i < x.shape().rank(); ++i)
      if (i != axis) (i < axis ? before : after) *= x.shape()[i];
    int64_t each = channels_ / groups_;
    Value wide = ops::reshape(as_float32(x), {x.shape()[0], before, groups_, each, after});
    ops::Reduce over{.axes = {1, 3, 4}, .keepdims = true};
    Value centred = wide - ops::mean(wide, over);
    Value inverse = ops::rsqrt(ops::mean(ops::square(centred), over) + options().epsilon);
    Shape beside{1, 1, groups_, each, 1};
    if (options().scale) inverse = inverse * ops::reshape(gamma_, beside);
    Value y = centred * inverse;
    if (options().center) y = y + ops::reshape(beta_, beside);
    return ops::cast(ops::reshape(y, x.shape()), x.dtype());
  }

 private:
  int64_t groups_ = 0, channels_ = 0;
  Variable gamma_, beta_;
};

}  // namespace

RMSNormalization::RMSNormalization(const RMSNormalizationOptions& options)
    : Layer(configured<RMSNormalizationLayer>({options})) {}

GroupNormalization::GroupNormalization(const GroupNormalizationOptions& options)
    : Layer(configured<GroupNormalizationLayer>({options})) {}

void add_moment_normalization(LayerKinds& kinds) {
  add_layer<RMSNormalizationLayer>(kinds);
  add_layer<GroupNormalizationLayer>(kinds);
}

}  // namespace stoker
