// Flatten, Reshape, Permute, ZeroPadding2D, Cropping2D, UpSampling2D: elements move, none is
// computed.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct FlattenConfig : LayerOptions {
  static constexpr const char* kKind = "Flatten";
  static Fields<FlattenConfig> fields() { return {}; }
};

class FlattenLayer : public Configured<SingleInputLayer, FlattenConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    return x.shape().rank() == 1 ? ops::expand_dims(x, 1) : ops::flatten(x);
  }
};

struct ReshapeConfig : LayerOptions {
  Shape target_shape = {};
  static constexpr const char* kKind = "Reshape";
  static Fields<ReshapeConfig> fields() { return {{"target_shape", &ReshapeConfig::target_shape}}; }
};

class ReshapeLayer : public Configured<SingleInputLayer, ReshapeConfig> {
 public:
  explicit ReshapeLayer(ReshapeConfig config) : Configured(std::move(config)) {
    if (std::ranges::count(target(), -1) > 1)
      fail_option(fmt::format("at most one dimension may be -1, got {}", to_string(target())));
  }

 protected:
  Value forward(const Value& x, CallContext&) override {
    return ops::reshape(x, resolve(x.shape()).prepend(x.shape()[0]));
  }

 private:
  const Shape& target() const { return options().target_shape; }

  // The target for one element of the batch, -1 replaced.
  Shape resolve(const Shape& input) const {
    int64_t have = input.drop_front().elements(), known = 1;
    for (int64_t extent : target())
      if (extent != -1) known *= extent;
    Shape resolved = target();
    for (int axis = 0; axis < target().rank(); ++axis)
      if (target()[axis] == -1 && known > 0 && have % known == 0) resolved.set(axis, have / known);
    if (!resolved.is_known() || resolved.elements() != have)
      fail_input(fmt::format("cannot make {} of the {} values of an element of {}",
                             to_string(target()), have, to_string(input)));
    return resolved;
  }
};

struct PermuteConfig : LayerOptions {
  std::vector<int64_t> dims = {};
  static constexpr const char* kKind = "Permute";
  static Fields<PermuteConfig> fields() { return {{"dims", &PermuteConfig::dims}}; }
};

class PermuteLayer : public Configured<SingleInputLayer, PermuteConfig> {
 public:
  explicit PermuteLayer(PermuteConfig config) : Configured(std::move(config)) {
    const Ints& dims = options().dims;
    Ints expected(dims.size()), sorted = dims;
    std::iota(expected.begin(), expected.end(), 1);
    std::ranges::sort(sorted);
    if (sorted != expected)
      fail_option(fmt::format("dims holds each of 1 to {} once, got [{}]; the batch, 0, stays",
                              dims.size(), fmt::join(dims, ", ")));
  }

 protected:
  Value forward(const Value& x, CallContext&) override {
    const Ints& dims = options().dims;
    if (x.shape().rank() != int(dims.size()) + 1)
      fail_input(fmt::format("{}-D input", dims.size() + 1), x.shape());
    Ints perm = {0};
    perm.insert(perm.end(), dims.begin(), dims.end());
    return ops::transpose(x, perm);
  }
};

struct ZeroPadding2DConfig : LayerOptions {
  Edges2 padding = 1;
  static constexpr const char* kKind = "ZeroPadding2D";
  static Fields<ZeroPadding2DConfig> fields() {
    return {{"padding", &ZeroPadding2DConfig::padding, at_least(0)}};
  }
};

class ZeroPadding2DLayer : public Configured<SingleInputLayer, ZeroPadding2DConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_image(x.shape());
    const Edges2& by = options().padding;
    return ops::pad(x, {0, by.top, by.left, 0}, {0, by.bottom, by.right, 0});
  }
};

struct Cropping2DConfig : LayerOptions {
  Edges2 cropping = 0;
  static constexpr const char* kKind = "Cropping2D";
  static Fields<Cropping2DConfig> fields() {
    return {{"cropping", &Cropping2DConfig::cropping, at_least(0)}};
  }
};

class Cropping2DLayer : public Configured<SingleInputLayer, Cropping2DConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    const Shape shape = x.shape();
    expect_image(shape);
    const Edges2& by = options().cropping;
    int64_t height = shape[1] - by.top - by.bottom, width = shape[2] - by.left - by.right;
    if (height < 1 || width < 1)
      fail_input(fmt::format("an image larger than the {} rows and {} columns that are cropped",
                             by.top + by.bottom, by.left + by.right),
                 shape);
    return ops::slice(x, {0, by.top, by.left, 0}, {shape[0], height, width, shape[3]});
  }
};

struct UpSampling2DConfig : UpSampling2DOptions {
  Size2 size = 2;
  static constexpr const char* kKind = "UpSampling2D";
  static Fields<UpSampling2DConfig> fields() {
    return {{"interpolation", &UpSampling2DConfig::interpolation, one_of({"nearest"})},
            {"size", &UpSampling2DConfig::size, at_least(1)}};
  }
};

class UpSampling2DLayer : public Configured<SingleInputLayer, UpSampling2DConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    const Shape shape = x.shape();
    expect_image(shape);
    int64_t batch = shape[0], height = shape[1], width = shape[2], channels = shape[3];
    Size2 size = options().size;
    Value apart = ops::reshape(x, {batch, height, 1, width, 1, channels});
    Value repeated =
        ops::broadcast_to(apart, {batch, height, size.height, width, size.width, channels});
    return ops::reshape(repeated, {batch, height * size.height, width * size.width, channels});
  }
};

}  // namespace

Flatten::Flatten(const LayerOptions& options) : Layer(configured<FlattenLayer>({options})) {}

Reshape::Reshape(const Shape& target_shape, const LayerOptions& options)
    : Layer(configured<ReshapeLayer>({options, target_shape})) {}

Permute::Permute(const std::vector<int64_t>& dims, const LayerOptions& options)
    : Layer(configured<PermuteLayer>({options, dims})) {}

ZeroPadding2D::ZeroPadding2D(Edges2 padding, const LayerOptions& options)
    : Layer(configured<ZeroPadding2DLayer>({options, padding})) {}

Cropping2D::Cropping2D(Edges2 cropping, const LayerOptions& options)
    : Layer(configured<Cropping2DLayer>({options, cropping})) {}

UpSampling2D::UpSampling2D(Size2 size, const UpSampling2DOptions& options)
    : Layer(configured<UpSampling2DLayer>({options, size})) {}

void add_reshaping_layers(LayerKinds& kinds) {
  add_layer<FlattenLayer>(kinds);
  add_layer<ReshapeLayer>(kinds);
  add_layer<PermuteLayer>(kinds);
  add_layer<ZeroPadding2DLayer>(kinds);
  add_layer<Cropping2DLayer>(kinds);
  add_layer<UpSampling2DLayer>(kinds);
}

}  // namespace stoker
