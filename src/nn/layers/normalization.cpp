// BatchNormalization and LayerNormalization.
#include <algorithm>

#include <fmt/format.h>

#include "graph/op.h"
#include "nn/config.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

// What both can have: gamma and beta, or ones and zeros in their place.
class NormalizationLayer : public SingleInputLayer {
 protected:
  template <class Options>
  explicit NormalizationLayer(const Options& options)
      : SingleInputLayer(options.name),
        epsilon_(options.epsilon),
        center_(options.center),
        scale_(options.scale),
        beta_initializer_(options.beta_initializer),
        gamma_initializer_(options.gamma_initializer),
        beta_regularizer_(options.beta_regularizer),
        gamma_regularizer_(options.gamma_regularizer) {}

  void add_gamma_and_beta(const Shape& shape) {
    if (scale_)
      gamma_ = add_weight("gamma", shape,
                          {.initializer = gamma_initializer_, .regularizer = gamma_regularizer_});
    if (center_)
      beta_ = add_weight("beta", shape,
                         {.initializer = beta_initializer_, .regularizer = beta_regularizer_});
    shape_ = shape;
  }
  Value gamma() const { return scale_ ? Value(gamma_) : Value(Tensor::full(shape_, 1)); }
  Value beta() const { return center_ ? Value(beta_) : Value(Tensor::zeros(shape_)); }

  void put_common(Attrs& attrs) const {
    attrs.set("epsilon", epsilon_);
    attrs.set("center", center_);
    attrs.set("scale", scale_);
    config::put(attrs, "beta_initializer", beta_initializer_);
    config::put(attrs, "gamma_initializer", gamma_initializer_);
    config::put(attrs, "beta_regularizer", beta_regularizer_);
    config::put(attrs, "gamma_regularizer", gamma_regularizer_);
  }

  double epsilon_;
  Shape shape_;  // of gamma and beta

 private:
  bool center_, scale_;
  Initializer beta_initializer_, gamma_initializer_;
  Regularizer beta_regularizer_, gamma_regularizer_;
  Variable gamma_, beta_;
};

// The permutation that moves `axes` behind all others, and the one that undoes it.
Ints to_the_end(const Ints& axes, int rank) {
  Ints perm;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) perm.push_back(axis);
  perm.insert(perm.end(), axes.begin(), axes.end());
  return perm;
}

Ints inverse(const Ints& perm) {
  Ints back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) back[size_t(perm[i])] = int64_t(i);
  return back;
}

class BatchNormalizationLayer : public NormalizationLayer {
 public:
  explicit BatchNormalizationLayer(const BatchNormalizationOptions& options)
      : NormalizationLayer(options),
        axis_(options.axis),
        momentum_(options.momentum),
        mean_initializer_(options.moving_mean_initializer),
        variance_initializer_(options.moving_variance_initializer) {}

  std::string kind() const override { return "BatchNormalization"; }

  Attrs config() const override {
    Attrs attrs = {{"axis", int64_t(axis_)}, {"momentum", momentum_}};
    put_common(attrs);
    config::put(attrs, "moving_mean_initializer", mean_initializer_);
    config::put(attrs, "moving_variance_initializer", variance_initializer_);
    return attrs;
  }

 protected:
  void build_for(const Shape& input) override {
    int axis = resolve_axis(axis_, input);
    add_gamma_and_beta({input[axis]});
    moving_mean_ =
        add_weight("moving_mean", shape_, {.initializer = mean_initializer_, .trainable = false});
    moving_variance_ = add_weight("moving_variance", shape_,
                                  {.initializer = variance_initializer_, .trainable = false});
  }

  Value forward(const Value& x, CallContext& context) override {
    expect_float(x);
    int axis = resolve_axis(axis_, x.shape()), rank = x.shape().rank();
    if (x.shape()[axis] != shape_[0])
      fail_input(fmt::format("{} channels in axis {}, which it was built for", shape_[0], axis_),
                 x.shape());
    if (axis == rank - 1) return normalize(x, context);
    Ints perm = to_the_end({axis}, rank);
    return ops::transpose(normalize(ops::transpose(x, perm), context), inverse(perm));
  }

 private:
  // x: [.., C]
  Value normalize(const Value& x, CallContext& context) {
    if (!context.training() || !trainable())
      return ops::batch_norm_inference(x, gamma(), beta(), moving_mean_, moving_variance_,
                                       epsilon_);
    ops::BatchNormResult batch = ops::batch_norm(x, gamma(), beta(), epsilon_);
    move(moving_mean_, batch.mean, context);
    move(moving_variance_, batch.variance, context);
    return batch.y;
  }

  void move(const Variable& average, const Value& value, CallContext& context) const {
    context.update(average, apply1("moving_average", {context.current(average), value},
                                   {{"momentum", momentum_}}));
  }

  int axis_;
  double momentum_;
  Initializer mean_initializer_, variance_initializer_;
  Variable moving_mean_, moving_variance_;
};

class LayerNormalizationLayer : public NormalizationLayer {
 public:
  explicit LayerNormalizationLayer(const LayerNormalizationOptions& options)
      : NormalizationLayer(options), axes_(options.axis.list) {
    if (axes_.empty()) fail_option("axis names at least one axis, got none");
  }

  std::string kind() const override { return "LayerNormalization"; }

  Attrs config() const override {
    Attrs attrs = {{"axis", axes_}};
    put_common(attrs);
    return attrs;
  }

 protected:
  void build_for(const Shape& input) override {
    Ints extents;
    for (int64_t axis : resolved(input)) extents.push_back(input[int(axis)]);
    add_gamma_and_beta(Shape(std::span<const int64_t>(extents)));
  }

  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    Ints axes = resolved(x.shape());
    for (size_t i = 0; i < axes.size(); ++i)
      if (x.shape()[int(axes[i])] != shape_[int(i)])
        fail_input(fmt::format("extents {} in the normalised axes, which it was built for",
                               to_string(shape_)),
                   x.shape());
    int rank = x.shape().rank();
    if (axes.front() == rank - int64_t(axes.size()))
      return ops::layer_norm(x, gamma(), beta(), epsilon_);
    Ints perm = to_the_end(axes, rank);
    return ops::transpose(ops::layer_norm(ops::transpose(x, perm), gamma(), beta(), epsilon_),
                          inverse(perm));
  }

 private:
  // Ascending, each once.
  Ints resolved(const Shape& input) const {
    Ints axes;
    for (int64_t axis : axes_) axes.push_back(resolve_axis(axis, input));
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end()) fail_option("axis names an axis twice");
    return axes;
  }

  Ints axes_;
};

// --- from a configuration ------------------------------------------------------------------------

template <class Options>
Options common_options(const Attrs& attrs) {
  Options options;
  options.epsilon = config::number(attrs, "epsilon", options.epsilon);
  options.center = attrs.get_or("center", options.center);
  options.scale = attrs.get_or("scale", options.scale);
  options.beta_initializer =
      config::initializer(attrs, "beta_initializer", options.beta_initializer);
  options.gamma_initializer =
      config::initializer(attrs, "gamma_initializer", options.gamma_initializer);
  options.beta_regularizer = config::regularizer(attrs, "beta_regularizer");
  options.gamma_regularizer = config::regularizer(attrs, "gamma_regularizer");
  return options;
}

Layer batch_normalization_from(const Attrs& attrs) {
  auto options = common_options<BatchNormalizationOptions>(attrs);
  options.axis = int(attrs.get_or<int64_t>("axis", options.axis));
  options.momentum = config::number(attrs, "momentum", options.momentum);
  options.moving_mean_initializer =
      config::initializer(attrs, "moving_mean_initializer", options.moving_mean_initializer);
  options.moving_variance_initializer = config::initializer(attrs, "moving_variance_initializer",
                                                            options.moving_variance_initializer);
  return BatchNormalization(options);
}

Layer layer_normalization_from(const Attrs& attrs) {
  auto options = common_options<LayerNormalizationOptions>(attrs);
  if (attrs.has("axis")) options.axis = Axes(config::integers(attrs, "axis"));
  return LayerNormalization(options);
}

}  // namespace

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : Layer(std::make_shared<BatchNormalizationLayer>(options), options.dtype) {}

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : Layer(std::make_shared<LayerNormalizationLayer>(options), options.dtype) {}

void add_normalization_layers(LayerFactories& factories) {
  factories["BatchNormalization"] = batch_normalization_from;
  factories["LayerNormalization"] = layer_normalization_from;
}

}  // namespace stoker
