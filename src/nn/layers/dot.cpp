// Dot.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/shape_layers.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct DotConfig : DotOptions {
  Axes axes = -1;
  static constexpr const char* kKind = "Dot";
  static Fields<DotConfig> fields() {
    return {{"axes", &DotConfig::axes, not_empty()}, {"normalize", &DotConfig::normalize}};
  }
};

class TwoInputLayer : public LayerBase {
 protected:
  template <class Options>
  explicit TwoInputLayer(const Options& options) {
    LayerBase::set_name(options.name);
  }
};

class DotLayer : public Configured<TwoInputLayer, DotConfig> {
 public:
  explicit DotLayer(DotConfig config) : Configured(std::move(config)) {
    if (options().axes.list.size() > 2)
      fail_option(fmt::format("axes has one axis, or one for each of the two inputs, got {}",
                              options().axes.list.size()));
  }
  bool supports_masking() const override { return true; }
  Values compute_mask(const Values&, const Values&) const override { return {}; }

  Values call(const Values& inputs, CallContext&) override {
    if (inputs.size() != 2)
      fail_input(fmt::format("expected 2 inputs, as in Dot(-1)({{a, b}}), got {}", inputs.size()));
    int a_axis = axis_of(0, inputs[0].shape()), b_axis = axis_of(1, inputs[1].shape());
    const Shape &a = inputs[0].shape(), &b = inputs[1].shape();
    if (a[a_axis] != b[b_axis] || a[0] != b[0])
      fail_input(
          fmt::format("cannot sum over axis {} of {} and axis {} of {}: their extents, or "
                      "the batches, differ",
                      a_axis, to_string(a), b_axis, to_string(b)));
    Value left = with_axis_last(unit(inputs[0], a_axis), a_axis);
    Value right = with_axis_last(unit(inputs[1], b_axis), b_axis);
    // [B, rest of a, n] · [B, rest of b, n]ᵀ
    Value y = ops::matmul(flat(left), flat(right), {.transpose_b = true});
    return {ops::reshape(y, result_shape(left.shape(), right.shape()))};
  }

 private:
  int axis_of(size_t input, const Shape& shape) const {
    const Ints& axes = options().axes.list;
    int64_t given = axes[std::min(input, axes.size() - 1)];
    int64_t axis = given < 0 ? given + shape.rank() : given;
    if (axis < 1 || axis >= shape.rank())
      fail_input(fmt::format("axis {} is not one of the input's {}, axes 1 to {} (or -1 to -{})",
                             given, to_string(shape), shape.rank() - 1, shape.rank() - 1));
    return int(axis);
  }

  // Of length 1 along the axis; Keras's epsilon of 1e-12, squared: zeros stay finite.
  Value unit(const Value& x, int axis) const {
    if (!options().normalize) return x;
    constexpr double kShortest = 1e-24;
    Value wide = as_float32(x);
    Value squares = ops::sum(ops::square(wide), {.axes = {axis}, .keepdims = true});
    return ops::cast(wide * ops::rsqrt(ops::maximum(squares, kShortest)), x.dtype());
  }

  static Value with_axis_last(const Value& x, int axis) {
    int rank = x.shape().rank();
    if (axis == rank - 1) return x;
    Ints perm;
    for (int i = 0; i < rank; ++i)
      if (i != axis) perm.push_back(i);
    perm.push_back(axis);
    return ops::transpose(x, perm);
  }

  // [B, …, n] → [B, m, n]
  static Value flat(const Value& x) {
    const Shape& shape = x.shape();
    return ops::reshape(x, {shape[0], -1, shape[-1]});
  }

  static Shape result_shape(const Shape& a, const Shape& b) {
    Ints dims(a.begin(), a.end() - 1);
    dims.insert(dims.end(), b.begin() + 1, b.end() - 1);
    if (dims.size() == 1) dims.push_back(1);
    return Shape(std::span<const int64_t>(dims));
  }
};

}  // namespace

Dot::Dot(Axes axes, const DotOptions& options)
    : Layer(configured<DotLayer>({options, std::move(axes)})) {}

void add_dot_layer(LayerKinds& kinds) { add_layer<DotLayer>(kinds); }

}  // namespace stoker
