// ZeroPadding1D, Cropping1D, UpSampling1D. Sequences are [B, T, C].
#include <fmt/format.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct ZeroPadding1DConfig : LayerOptions {
  Edges1 padding = 1;
  static constexpr const char* kKind = "ZeroPadding1D";
  static Fields<ZeroPadding1DConfig> fields() {
    return {{"padding", &ZeroPadding1DConfig::padding, at_least(0)}};
  }
};

class ZeroPadding1DLayer : public Configured<SingleInputLayer, ZeroPadding1DConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_sequence(x.shape());
    return ops::pad(x, {0, options().padding.left, 0}, {0, options().padding.right, 0});
  }
};

struct Cropping1DConfig : LayerOptions {
  Edges1 cropping = 1;
  static constexpr const char* kKind = "Cropping1D";
  static Fields<Cropping1DConfig> fields() {
    return {{"cropping", &Cropping1DConfig::cropping, at_least(0)}};
  }
};

class Cropping1DLayer : public Configured<SingleInputLayer, Cropping1DConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    const Shape shape = x.shape();
    expect_sequence(shape);
    const Edges1& by = options().cropping;
    int64_t length = shape[1] - by.left - by.right;
    if (length < 1)
      fail_input(
          fmt::format("a sequence longer than the {} steps that are cropped", by.left + by.right),
          shape);
    return ops::slice(x, {0, by.left, 0}, {shape[0], length, shape[2]});
  }
};

struct UpSampling1DConfig : LayerOptions {
  int64_t size = 2;
  static constexpr const char* kKind = "UpSampling1D";
  static Fields<UpSampling1DConfig> fields() {
    return {{"size", &UpSampling1DConfig::size, at_least(1)}};
  }
};

class UpSampling1DLayer : public Configured<SingleInputLayer, UpSampling1DConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    const Shape shape = x.shape();
    expect_sequence(shape);
    int64_t batch = shape[0], steps = shape[1], channels = shape[2], size = options().size;
    Value apart = ops::reshape(x, {batch, steps, 1, channels});
    Value repeated = ops::broadcast_to(apart, {batch, steps, size, channels});
    return ops::reshape(repeated, {batch, steps * size, channels});
  }
};

}  // namespace

ZeroPadding1D::ZeroPadding1D(Edges1 padding, const LayerOptions& options)
    : Layer(configured<ZeroPadding1DLayer>({options, padding})) {}

Cropping1D::Cropping1D(Edges1 cropping, const LayerOptions& options)
    : Layer(configured<Cropping1DLayer>({options, cropping})) {}

UpSampling1D::UpSampling1D(int64_t size, const LayerOptions& options)
    : Layer(configured<UpSampling1DLayer>({options, size})) {}

void add_reshaping1d_layers(LayerKinds& kinds) {
  add_layer<ZeroPadding1DLayer>(kinds);
  add_layer<Cropping1DLayer>(kinds);
  add_layer<UpSampling1DLayer>(kinds);
}

}  // namespace stoker
