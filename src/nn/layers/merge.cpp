// Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/layers.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/masks.h"
#include "nn/targets.h"

namespace stoker {

namespace {

std::string list(const Values& inputs) {
  std::string text;
  for (const Value& input : inputs)
    text += (text.empty() ? "" : " and ") + to_string(input.shape());
  return text;
}

// A layer of several inputs.
class MultiInputLayer : public LayerBase {
 public:
  bool supports_masking() const override { return true; }

 protected:
  explicit MultiInputLayer(const LayerOptions& options) { LayerBase::set_name(options.name); }
};

template <class Merge>
struct MergeConfig : LayerOptions {
  static constexpr const char* kKind = Merge::kKind;
  static Fields<MergeConfig> fields() { return {}; }
};

struct SumOfAll {
  static constexpr const char* kKind = "Add";
  static Value of(const Value& a, const Value& b) { return a + b; }
};
struct Difference {
  static constexpr const char* kKind = "Subtract";
  static Value of(const Value& a, const Value& b) { return a - b; }
};
struct Product {
  static constexpr const char* kKind = "Multiply";
  static Value of(const Value& a, const Value& b) { return a * b; }
};
struct MeanOfAll : SumOfAll {
  static constexpr const char* kKind = "Average";
};
struct Largest {
  static constexpr const char* kKind = "Maximum";
  static Value of(const Value& a, const Value& b) { return ops::maximum(a, b); }
};
struct Smallest {
  static constexpr const char* kKind = "Minimum";
  static Value of(const Value& a, const Value& b) { return ops::minimum(a, b); }
};

// Combines its inputs one after the other.
template <class Merge>
class MergeLayer : public Configured<MultiInputLayer, MergeConfig<Merge>> {
 public:
  using Configured<MultiInputLayer, MergeConfig<Merge>>::Configured;

  Values call(const Values& inputs, CallContext&) override {
    check(inputs);
    int rank = 0;
    for (const Value& input : inputs) rank = std::max(rank, input.shape().rank());
    Value merged = of_rank(inputs[0], rank);
    for (size_t i = 1; i < inputs.size(); ++i) merged = Merge::of(merged, of_rank(inputs[i], rank));
    if (std::is_same_v<Merge, MeanOfAll>) merged = merged * (1.0 / double(inputs.size()));
    return {merged};
  }

  // A step counts where it does in any input; an input without a mask ends all masks, as in Keras.
  Values compute_mask(const Values&, const Values& masks) const override {
    if (!std::ranges::all_of(masks, &Value::defined)) return {};
    Value mask = masks[0];
    for (size_t i = 1; i < masks.size(); ++i) mask = either(mask, masks[i]);
    return {mask};
  }

 private:
  void check(const Values& inputs) const {
    bool two = std::is_same_v<Merge, Difference>;
    if (inputs.size() < 2 || (two && inputs.size() > 2))
      this->fail_input(fmt::format("expected {} inputs, as in {}()({{a, b}}), got {}",
                                   two ? "2" : "2 or more", Merge::kKind, inputs.size()));
    int rank = 0;
    for (const Value& input : inputs) rank = std::max(rank, input.shape().rank());
    Shape merged = aligned(inputs[0].shape(), rank);
    try {
      for (const Value& input : inputs) merged = broadcast(merged, aligned(input.shape(), rank));
    } catch (const ShapeError&) {
      this->fail_input(fmt::format("inputs of shapes {} do not fit each other", list(inputs)));
    }
    for (const Value& input : inputs)
      if (input.dtype() != inputs[0].dtype() &&
          !(is_floating(input.dtype()) && is_floating(inputs[0].dtype())))
        this->fail_input(
            fmt::format("expected inputs of one dtype, got {} and {}; ops::cast converts one",
                        stoker::name(inputs[0].dtype()), stoker::name(input.dtype())));
  }

  // As Keras: the axes that an input lacks are those after the batch, [B, C] → [B, 1, 1, C].
  static Shape aligned(const Shape& shape, int rank) {
    if (shape.rank() == 0) return shape;
    Shape wide = shape.drop_front();
    while (wide.rank() + 1 < rank) wide = wide.prepend(1);
    return wide.prepend(shape[0]);
  }
  static Value of_rank(const Value& x, int rank) {
    return x.shape().rank() == rank ? x : ops::reshape(x, aligned(x.shape(), rank));
  }
};

struct ConcatenateConfig : LayerOptions {
  int axis = -1;
  static constexpr const char* kKind = "Concatenate";
  static Fields<ConcatenateConfig> fields() { return {{"axis", &ConcatenateConfig::axis}}; }
};

class ConcatenateLayer : public Configured<MultiInputLayer, ConcatenateConfig> {
 public:
  using Configured::Configured;

  Values call(const Values& inputs, CallContext&) override {
    if (inputs.size() < 2)
      fail_input(fmt::format("expected 2 or more inputs, as in Concatenate()({{a, b}}), got {}",
                             inputs.size()));
    const Shape first = inputs[0].shape();
    int given = options().axis, axis = given < 0 ? given + first.rank() : given;
    if (axis < 1 || axis >= first.rank())
      fail_input(
          fmt::format("axis {} is not one of the inputs' {} after the batch", given, list(inputs)));
    for (const Value& input : inputs)
      if (input.shape().rank() != first.rank() || input.shape().with(axis, first[axis]) != first)
        fail_input(fmt::format("inputs may differ in axis {} only, got {}", given, list(inputs)));
    return {ops::concatenate(inputs, axis)};
  }

  // Side by side, as the inputs are; where features are joined, a step counts where it does in any
  // input. Steps of an input without a mask all count.
  Values compute_mask(const Values& inputs, const Values& masks) const override {
    if (std::ranges::none_of(masks, &Value::defined)) return {};
    int rank = inputs[0].shape().rank();
    int axis = options().axis < 0 ? options().axis + rank : options().axis;
    Values steps;
    for (size_t i = 0; i < inputs.size(); ++i)
      steps.push_back(mask_per_step(inputs[i].shape(), masks[i]));
    if (axis < rank - 1) return {ops::concatenate(steps, axis)};
    Value mask = steps[0];
    for (size_t i = 1; i < steps.size(); ++i) mask = either(mask, steps[i]);
    return {mask};
  }

 private:
  // For an input [B, .., C]: bool [B, ..].
  static Value mask_per_step(const Shape& input, const Value& mask) {
    Shape steps = without_last(input);
    if (!mask.defined()) return Tensor::full(steps, 1, DType::bool_);
    Shape shape = mask.shape().rank() == input.rank() ? input : steps;
    Shape beside = shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      beside.set(axis, axis < mask.shape().rank() ? mask.shape()[axis] : 1);
    Value whole = ops::broadcast_to(ops::reshape(mask, beside), shape);
    return shape.rank() == input.rank() ? any_last(whole) : whole;
  }
};

}  // namespace

Add::Add(const LayerOptions& options) : Layer(configured<MergeLayer<SumOfAll>>({options})) {}

Subtract::Subtract(const LayerOptions& options)
    : Layer(configured<MergeLayer<Difference>>({options})) {}

Multiply::Multiply(const LayerOptions& options)
    : Layer(configured<MergeLayer<Product>>({options})) {}

Average::Average(const LayerOptions& options)
    : Layer(configured<MergeLayer<MeanOfAll>>({options})) {}

Maximum::Maximum(const LayerOptions& options) : Layer(configured<MergeLayer<Largest>>({options})) {}

Minimum::Minimum(const LayerOptions& options)
    : Layer(configured<MergeLayer<Smallest>>({options})) {}

Concatenate::Concatenate(int axis, const LayerOptions& options)
    : Layer(configured<ConcatenateLayer>({options, axis})) {}

void add_merge_layers(LayerKinds& kinds) {
  add_layer<MergeLayer<SumOfAll>>(kinds);
  add_layer<MergeLayer<Difference>>(kinds);
  add_layer<MergeLayer<Product>>(kinds);
  add_layer<MergeLayer<MeanOfAll>>(kinds);
  add_layer<MergeLayer<Largest>>(kinds);
  add_layer<MergeLayer<Smallest>>(kinds);
  add_layer<ConcatenateLayer>(kinds);
}

}  // namespace stoker
