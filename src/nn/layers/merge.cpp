// Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/config.h"
#include "nn/layers/families.h"

namespace stoker {

namespace {

std::string list(const Values& inputs) {
  std::string text;
  for (const Value& input : inputs)
    text += (text.empty() ? "" : " and ") + to_string(input.shape());
  return text;
}

// Combines its inputs one after the other.
class MergeLayer : public LayerBase {
 public:
  using Combine = Value (*)(const Value&, const Value&);
  MergeLayer(const char* kind, Combine combine, const LayerOptions& options)
      : kind_(kind), combine_(combine) {
    LayerBase::set_name(options.name);
  }

  std::string kind() const override { return kind_; }

  Values call(const Values& inputs, CallContext&) override {
    check(inputs);
    int rank = 0;
    for (const Value& input : inputs) rank = std::max(rank, input.shape().rank());
    Value merged = of_rank(inputs[0], rank);
    for (size_t i = 1; i < inputs.size(); ++i) merged = combine_(merged, of_rank(inputs[i], rank));
    if (kind_ == "Average") merged = merged * (1.0 / double(inputs.size()));
    return {merged};
  }

 private:
  void check(const Values& inputs) const {
    bool two = kind_ == "Subtract";
    if (inputs.size() < 2 || (two && inputs.size() > 2))
      fail_input(fmt::format("expected {} inputs, as in {}()({{a, b}}), got {}",
                             two ? "2" : "2 or more", kind_, inputs.size()));
    int rank = 0;
    for (const Value& input : inputs) rank = std::max(rank, input.shape().rank());
    Shape merged = aligned(inputs[0].shape(), rank);
    try {
      for (const Value& input : inputs) merged = broadcast(merged, aligned(input.shape(), rank));
    } catch (const ShapeError&) {
      fail_input(fmt::format("inputs of shapes {} do not fit each other", list(inputs)));
    }
    for (const Value& input : inputs)
      if (input.dtype() != inputs[0].dtype() &&
          !(is_floating(input.dtype()) && is_floating(inputs[0].dtype())))
        fail_input(
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

  std::string kind_;
  Combine combine_;
};

Value add(const Value& a, const Value& b) { return a + b; }
Value subtract(const Value& a, const Value& b) { return a - b; }
Value multiply(const Value& a, const Value& b) { return a * b; }

class ConcatenateLayer : public LayerBase {
 public:
  ConcatenateLayer(int axis, const LayerOptions& options) : axis_(axis) {
    LayerBase::set_name(options.name);
  }

  std::string kind() const override { return "Concatenate"; }
  Attrs config() const override { return {{"axis", int64_t(axis_)}}; }

  Values call(const Values& inputs, CallContext&) override {
    if (inputs.size() < 2)
      fail_input(fmt::format("expected 2 or more inputs, as in Concatenate()({{a, b}}), got {}",
                             inputs.size()));
    const Shape first = inputs[0].shape();
    int axis = axis_ < 0 ? axis_ + first.rank() : axis_;
    if (axis < 1 || axis >= first.rank())
      fail_input(
          fmt::format("axis {} is not one of the inputs' {} after the batch", axis_, list(inputs)));
    for (const Value& input : inputs)
      if (input.shape().rank() != first.rank() || input.shape().with(axis, first[axis]) != first)
        fail_input(fmt::format("inputs may differ in axis {} only, got {}", axis_, list(inputs)));
    return {ops::concatenate(inputs, axis)};
  }

 private:
  int axis_;
};

}  // namespace

Add::Add(const LayerOptions& options)
    : Layer(std::make_shared<MergeLayer>("Add", add, options), options.dtype) {}

Subtract::Subtract(const LayerOptions& options)
    : Layer(std::make_shared<MergeLayer>("Subtract", subtract, options), options.dtype) {}

Multiply::Multiply(const LayerOptions& options)
    : Layer(std::make_shared<MergeLayer>("Multiply", multiply, options), options.dtype) {}

Average::Average(const LayerOptions& options)
    : Layer(std::make_shared<MergeLayer>("Average", add, options), options.dtype) {}

Maximum::Maximum(const LayerOptions& options)
    : Layer(std::make_shared<MergeLayer>("Maximum", ops::maximum, options), options.dtype) {}

Minimum::Minimum(const LayerOptions& options)
    : Layer(std::make_shared<MergeLayer>("Minimum", ops::minimum, options), options.dtype) {}

Concatenate::Concatenate(int axis, const LayerOptions& options)
    : Layer(std::make_shared<ConcatenateLayer>(axis, options), options.dtype) {}

void add_merge_layers(LayerFactories& factories) {
  factories["Add"] = [](const Attrs&) { return Add(); };
  factories["Subtract"] = [](const Attrs&) { return Subtract(); };
  factories["Multiply"] = [](const Attrs&) { return Multiply(); };
  factories["Average"] = [](const Attrs&) { return Average(); };
  factories["Maximum"] = [](const Attrs&) { return Maximum(); };
  factories["Minimum"] = [](const Attrs&) { return Minimum(); };
  factories["Concatenate"] = [](const Attrs& attrs) {
    return Concatenate(int(attrs.get_or<int64_t>("axis", -1)));
  };
}

}  // namespace stoker
