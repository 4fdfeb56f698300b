// AdaptiveAveragePooling1D–3D, AdaptiveMaxPooling1D–3D: one axis after the other. A mean over a box
// is a mean of means, because the windows of an axis are the same everywhere.
#include <fmt/format.h>
#include <stoker/pooling_layers.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

enum class AdaptivePool : uint8_t { max, average };

template <AdaptivePool pool, class Size>
struct AdaptiveConfig : LayerOptions {
  Size output_size = 1;
  static constexpr size_t kAxes = kSpatialRank<Size>;
  static constexpr const char* kKind = pool == AdaptivePool::max
                                           ? (kAxes == 1   ? "AdaptiveMaxPooling1D"
                                              : kAxes == 2 ? "AdaptiveMaxPooling2D"
                                                           : "AdaptiveMaxPooling3D")
                                           : (kAxes == 1   ? "AdaptiveAveragePooling1D"
                                              : kAxes == 2 ? "AdaptiveAveragePooling2D"
                                                           : "AdaptiveAveragePooling3D");
  static Fields<AdaptiveConfig> fields() {
    return {
        {"output_size", &AdaptiveConfig::output_size, {.check = at_least(1), .required = true}}};
  }
};

template <AdaptivePool pool, class Size>
class AdaptiveLayer : public Configured<SingleInputLayer, AdaptiveConfig<pool, Size>> {
 public:
  using Configured<SingleInputLayer, AdaptiveConfig<pool, Size>>::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    constexpr size_t kAxes = kSpatialRank<Size>;
    this->expect_float(x);
    if (x.shape().rank() != int(kAxes) + 2)
      this->fail_input(fmt::format("{}-D input {}", kAxes + 2, input_dims(kAxes)), x.shape());
    Value y = x;
    for (size_t axis = 0; axis < kAxes; ++axis)
      y = pooled(y, int(axis) + 1, extents(this->options().output_size)[axis]);
    return y;
  }

 private:
  static Value pooled(const Value& x, int axis, int64_t outputs) {
    int64_t length = x.shape()[axis];
    if (length == outputs) return x;
    if (length % outputs == 0) return in_equal_parts(x, axis, outputs);
    Values parts;
    for (int64_t i = 0; i < outputs; ++i) {
      int64_t first = i * length / outputs, end = ((i + 1) * length + outputs - 1) / outputs;
      std::vector<int64_t> begin(size_t(x.shape().rank()), 0), size(begin.size(), -1);
      begin[size_t(axis)] = first;
      size[size_t(axis)] = end - first;
      parts.push_back(reduced(ops::slice(x, begin, size), {.axes = {axis}, .keepdims = true}));
    }
    return ops::concatenate(parts, axis);
  }

  static Value in_equal_parts(const Value& x, int axis, int64_t outputs) {
    std::vector<int64_t> apart(x.shape().begin(), x.shape().end());
    apart[size_t(axis)] = x.shape()[axis] / outputs;
    apart.insert(apart.begin() + axis, outputs);
    return reduced(ops::reshape(x, Shape(std::span<const int64_t>(apart))), {.axes = {axis + 1}});
  }

  static Value reduced(const Value& x, const ops::Reduce& over) {
    return pool == AdaptivePool::max ? ops::max(x, over) : ops::mean(x, over);
  }
};

template <class Size>
using AdaptiveMaxLayer = AdaptiveLayer<AdaptivePool::max, Size>;
template <class Size>
using AdaptiveAverageLayer = AdaptiveLayer<AdaptivePool::average, Size>;

}  // namespace

AdaptiveAveragePooling1D::AdaptiveAveragePooling1D(int64_t output_size, const LayerOptions& options)
    : Layer(configured<AdaptiveAverageLayer<int64_t>>({options, output_size})) {}
AdaptiveAveragePooling2D::AdaptiveAveragePooling2D(Size2 output_size, const LayerOptions& options)
    : Layer(configured<AdaptiveAverageLayer<Size2>>({options, output_size})) {}
AdaptiveAveragePooling3D::AdaptiveAveragePooling3D(Size3 output_size, const LayerOptions& options)
    : Layer(configured<AdaptiveAverageLayer<Size3>>({options, output_size})) {}
AdaptiveMaxPooling1D::AdaptiveMaxPooling1D(int64_t output_size, const LayerOptions& options)
    : Layer(configured<AdaptiveMaxLayer<int64_t>>({options, output_size})) {}
AdaptiveMaxPooling2D::AdaptiveMaxPooling2D(Size2 output_size, const LayerOptions& options)
    : Layer(configured<AdaptiveMaxLayer<Size2>>({options, output_size})) {}
AdaptiveMaxPooling3D::AdaptiveMaxPooling3D(Size3 output_size, const LayerOptions& options)
    : Layer(configured<AdaptiveMaxLayer<Size3>>({options, output_size})) {}

void add_adaptive_pooling_layers(LayerKinds& kinds) {
  add_layer<AdaptiveAverageLayer<int64_t>>(kinds);
  add_layer<AdaptiveAverageLayer<Size2>>(kinds);
  add_layer<AdaptiveAverageLayer<Size3>>(kinds);
  add_layer<AdaptiveMaxLayer<int64_t>>(kinds);
  add_layer<AdaptiveMaxLayer<Size2>>(kinds);
  add_layer<AdaptiveMaxLayer<Size3>>(kinds);
}

}  // namespace stoker
