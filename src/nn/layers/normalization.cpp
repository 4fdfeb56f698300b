// BatchNormalization and LayerNormalization.
#include <algorithm>

#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/op.h"
#include "graph/replica.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

// The rows that both have.
template <class Config>
Fields<Config> gamma_and_beta_fields() {
  return {{"epsilon", &Config::epsilon},
          {"center", &Config::center},
          {"scale", &Config::scale},
          {"beta_initializer", &Config::beta_initializer},
          {"gamma_initializer", &Config::gamma_initializer},
          {"beta_regularizer", &Config::beta_regularizer},
          {"beta_constraint", &Config::beta_constraint},
          {"gamma_regularizer", &Config::gamma_regularizer},
          {"gamma_constraint", &Config::gamma_constraint}};
}

struct BatchNormalizationConfig : BatchNormalizationOptions {
  static constexpr const char* kKind = "BatchNormalization";
  static Fields<BatchNormalizationConfig> fields() {
    using C = BatchNormalizationConfig;
    return Fields<C>{{"axis", &C::axis}, {"momentum", &C::momentum}}
        .then(gamma_and_beta_fields<C>())
        .then({{"moving_mean_initializer", &C::moving_mean_initializer},
               {"moving_variance_initializer", &C::moving_variance_initializer},
               {"synchronized", &C::synchronized, {.sparse = true}}});
  }
};

struct LayerNormalizationConfig : LayerNormalizationOptions {
  static constexpr const char* kKind = "LayerNormalization";
  static Fields<LayerNormalizationConfig> fields() {
    using C = LayerNormalizationConfig;
    return Fields<C>{{"axis", &C::axis, not_empty()}}.then(gamma_and_beta_fields<C>());
  }
};

// What both can have: gamma and beta, or ones and zeros in their place.
template <class Config>
class NormalizationLayer : public Configured<SteadyLayer, Config> {
 protected:
  using Configured<SteadyLayer, Config>::Configured;
  using Configured<SteadyLayer, Config>::options;

  void add_gamma_and_beta(const Shape& shape) {
    if (options().scale)
      gamma_ = this->add_weight("gamma", shape,
                                {.initializer = options().gamma_initializer,
                                 .regularizer = options().gamma_regularizer,
                                 .constraint = options().gamma_constraint});
    if (options().center)
      beta_ = this->add_weight("beta", shape,
                               {.initializer = options().beta_initializer,
                                .regularizer = options().beta_regularizer,
                                .constraint = options().beta_constraint});
    shape_ = shape;
  }
  Value gamma() const { return options().scale ? Value(gamma_) : Value(Tensor::full(shape_, 1)); }
  Value beta() const { return options().center ? Value(beta_) : Value(Tensor::zeros(shape_)); }

  Shape shape_;  // of gamma and beta

 private:
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

class BatchNormalizationLayer : public NormalizationLayer<BatchNormalizationConfig> {
 public:
  using NormalizationLayer::NormalizationLayer;

 protected:
  void build_for(const Shape& input) override {
    int axis = resolve_axis(options().axis, input);
    add_gamma_and_beta({input[axis]});
    moving_mean_ =
        add_weight("moving_mean", shape_,
                   {.initializer = options().moving_mean_initializer, .trainable = false});
    moving_variance_ =
        add_weight("moving_variance", shape_,
                   {.initializer = options().moving_variance_initializer, .trainable = false});
  }

  Value forward(const Value& x, CallContext& context) override {
    expect_float(x);
    int axis = resolve_axis(options().axis, x.shape()), rank = x.shape().rank();
    if (x.shape()[axis] != shape_[0])
      fail_input(
          fmt::format("{} channels in axis {}, which it was built for", shape_[0], options().axis),
          x.shape());
    bool by_batch = context.training() && trainable();
    bool over_replicas = options().synchronized && !replica_of_input(x).alone();
    if (by_batch && (context.mask().defined() || over_replicas))
      return normalize_composed(x, axis, context);
    if (axis == rank - 1) return normalize(x, context);
    Ints perm = to_the_end({axis}, rank);
    return ops::transpose(normalize(ops::transpose(x, perm), context), inverse(perm));
  }

 private:
  // x: [.., C]
  Value normalize(const Value& x, CallContext& context) {
    if (!context.training() || !trainable())
      return ops::batch_norm_inference(x, gamma(), beta(), moving_mean_, moving_variance_,
                                       options().epsilon);
    ops::BatchNormResult batch = ops::batch_norm(x, gamma(), beta(), options().epsilon);
    move(moving_mean_, batch.mean, context);
    move(moving_variance_, batch.variance, context);
    return batch.y;
  }

  static Replica replica_of_input(const Value& x) {
    return x.traced() != nullptr ? replica_of(*x.traced()->graph) : Replica();
  }

  // By the moments of the steps that count, as Keras has them, and of all replicas.
  Value normalize_composed(const Value& x, int axis, CallContext& context) {
    constexpr double kNoStep = 1e-7;  // beside the number of steps, which may be 0
    Value mask = context.mask(), counts;
    if (mask.defined() && mask.shape().rank() != x.shape().rank() - 1)
      fail_input(fmt::format("a mask of one dimension less than the input {}, got {}",
                             to_string(x.shape()), to_string(mask.shape())));
    if (mask.defined()) counts = ops::broadcast_to(ops::expand_dims(mask, -1), x.shape());
    ops::Reduce others{.keepdims = true};
    Shape along = x.shape();  // of gamma beside x
    for (int i = 0; i < along.rank(); ++i)
      if (i != axis) {
        others.axes.push_back(i);
        along.set(i, 1);
      }
    auto counted = [&](const Value& values) {
      return counts.defined() ? ops::where(counts, values, 0.0) : values;
    };
    auto total = [&](const Value& values) {
      Value sum = ops::sum(values, others);
      return options().synchronized && sum.traced() != nullptr ? sum_over_replicas(sum) : sum;
    };
    Value floats = as_float32(x);
    Value weights;
    if (counts.defined())
      weights = total(ops::cast(counts, DType::float32)) + kNoStep;
    else
      weights = Value(Tensor(float(rows_over_replicas(x) * double(x.shape().elements()) /
                                   double(x.shape()[0] * shape_[0]))));
    Value mean = total(counted(floats)) / weights;
    Value variance = total(ops::square(counted(floats - mean))) / weights;
    move(moving_mean_, ops::reshape(mean, shape_), context);
    move(moving_variance_, ops::reshape(variance, shape_), context);
    Value scale = ops::rsqrt(variance + options().epsilon) * ops::reshape(gamma(), along);
    Value y = (floats - mean) * scale + ops::reshape(beta(), along);
    return y.dtype() == x.dtype() ? y : ops::cast(y, x.dtype());
  }

  // What the first dimension of x is over all replicas.
  static double rows_over_replicas(const Value& x) {
    Replica replica = replica_of_input(x);
    double own = double(x.shape()[0]);
    if (replica.whole == 0) return own * double(replica.ranks);
    return own * double(replica.whole) / double(std::max<int64_t>(replica.rows, 1));
  }

  void move(const Variable& average, const Value& value, CallContext& context) const {
    context.update(average, apply1("moving_average", {context.current(average), value},
                                   {{"momentum", options().momentum}}));
  }

  Variable moving_mean_, moving_variance_;
};

class LayerNormalizationLayer : public NormalizationLayer<LayerNormalizationConfig> {
 public:
  using NormalizationLayer::NormalizationLayer;

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
      return ops::layer_norm(x, gamma(), beta(), options().epsilon);
    Ints perm = to_the_end(axes, rank);
    return ops::transpose(
        ops::layer_norm(ops::transpose(x, perm), gamma(), beta(), options().epsilon),
        inverse(perm));
  }

 private:
  // Ascending, each once.
  Ints resolved(const Shape& input) const {
    Ints axes;
    for (int64_t axis : options().axis.list) axes.push_back(resolve_axis(axis, input));
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end()) fail_option("axis names an axis twice");
    return axes;
  }
};

}  // namespace

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : Layer(configured<BatchNormalizationLayer>({options})) {}

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : Layer(configured<LayerNormalizationLayer>({options})) {}

void add_normalization_layers(LayerKinds& kinds) {
  add_layer<BatchNormalizationLayer>(kinds);
  add_layer<LayerNormalizationLayer>(kinds);
}

}  // namespace stoker
