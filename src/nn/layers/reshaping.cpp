// Flatten, Reshape, Permute, Identity, RepeatVector: elements move, none is computed.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/shape_layers.h>

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

struct IdentityConfig : LayerOptions {
  static constexpr const char* kKind = "Identity";
  static Fields<IdentityConfig> fields() { return {}; }
};

class IdentityLayer : public Configured<SteadyLayer, IdentityConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override { return x; }
};

struct RepeatVectorConfig : LayerOptions {
  int64_t n = 0;
  static constexpr const char* kKind = "RepeatVector";
  static Fields<RepeatVectorConfig> fields() {
    return {{"n", &RepeatVectorConfig::n, {.check = at_least(1), .required = true}}};
  }
};

class RepeatVectorLayer : public Configured<SingleInputLayer, RepeatVectorConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    const Shape& shape = x.shape();
    if (shape.rank() != 2)
      fail_input("2-D input [B, C]", shape, shape.rank() > 2 ? "add Flatten before it" : "");
    return ops::broadcast_to(ops::expand_dims(x, 1), {shape[0], options().n, shape[1]});
  }
};

}  // namespace

Flatten::Flatten(const LayerOptions& options) : Layer(configured<FlattenLayer>({options})) {}

Reshape::Reshape(const Shape& target_shape, const LayerOptions& options)
    : Layer(configured<ReshapeLayer>({options, target_shape})) {}

Permute::Permute(const std::vector<int64_t>& dims, const LayerOptions& options)
    : Layer(configured<PermuteLayer>({options, dims})) {}

Identity::Identity(const LayerOptions& options) : Layer(configured<IdentityLayer>({options})) {}

RepeatVector::RepeatVector(int64_t n, const LayerOptions& options)
    : Layer(configured<RepeatVectorLayer>({options, n})) {}

void add_reshaping_layers(LayerKinds& kinds) {
  add_layer<FlattenLayer>(kinds);
  add_layer<ReshapeLayer>(kinds);
  add_layer<PermuteLayer>(kinds);
  add_layer<IdentityLayer>(kinds);
  add_layer<RepeatVectorLayer>(kinds);
}

}  // namespace stoker
