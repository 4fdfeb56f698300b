// The layers of int8 models, which compress makes, between products (quantized_products.cpp): from and
// to float, sums, poolings, functions, padding. Values in between are uint8.
#include <fmt/format.h>

#include "graph/op.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/quantized.h"
#include "nn/layers/single_input_layer.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

// What an activation is stored as.
template <class Config>
Fields<Config> params_fields() {
  return {{"scale", &Config::scale, above(0)},
          {"zero_point", &Config::zero_point, between(0, kLastCode)}};
}

struct QuantizeConfig : LayerOptions {
  double scale = 1;
  int64_t zero_point = 0;
  static constexpr const char* kKind = "Quantize";
  static Fields<QuantizeConfig> fields() { return params_fields<QuantizeConfig>(); }
};

class QuantizeLayer : public Configured<SteadyLayer, QuantizeConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_float(x);
    return apply1("quantize", {as_float32(x)},
                  {{"scale", options().scale}, {"zero_point", options().zero_point}});
  }
};

struct DequantizeConfig : LayerOptions {
  double scale = 1;
  int64_t zero_point = 0;
  static constexpr const char* kKind = "Dequantize";
  static Fields<DequantizeConfig> fields() { return params_fields<DequantizeConfig>(); }
};

class DequantizeLayer : public Configured<SteadyLayer, DequantizeConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    return apply1("dequantize", {x},
                  {{"scale", options().scale}, {"zero_point", options().zero_point}});
  }
};

// Two tensors.
struct PairOptions : ResultOptions {
  double first_scale = 1, second_scale = 1;
  int64_t first_zero_point = 0, second_zero_point = 0;
};

template <class Config>
Fields<Config> pair_fields() {
  return Fields<Config>{{"first_scale", &Config::first_scale, above(0)},
                        {"first_zero_point", &Config::first_zero_point, between(0, kLastCode)},
                        {"second_scale", &Config::second_scale, above(0)},
                        {"second_zero_point", &Config::second_zero_point, between(0, kLastCode)}}
      .then(result_fields<Config>());
}

struct QuantizedAddConfig : PairOptions {
  static constexpr const char *kKind = "QuantizedAdd", *kOp = "quantized_add";
  static Fields<QuantizedAddConfig> fields() { return pair_fields<QuantizedAddConfig>(); }
};

// The second has the shape of the first, or one factor per sample and channel.
struct QuantizedMultiplyConfig : PairOptions {
  static constexpr const char *kKind = "QuantizedMultiply", *kOp = "quantized_multiply";
  static Fields<QuantizedMultiplyConfig> fields() { return pair_fields<QuantizedMultiplyConfig>(); }
};

class QuantizedPairBase : public LayerBase {
 protected:
  explicit QuantizedPairBase(const LayerOptions& options) { LayerBase::set_name(options.name); }
};

template <class Config>
class QuantizedPairLayer : public Configured<QuantizedPairBase, Config> {
 public:
  using Configured<QuantizedPairBase, Config>::Configured;
  Values call(const Values& inputs, CallContext&) override {
    if (inputs.size() != 2)
      this->fail_input(fmt::format("expected 2 inputs, got {}", inputs.size()));
    const Config& how = this->options();
    Attrs attrs = {{"a_scale", how.first_scale},
                   {"a_zero_point", how.first_zero_point},
                   {"b_scale", how.second_scale},
                   {"b_zero_point", how.second_zero_point}};
    set_result(how, attrs);
    return apply(Config::kOp, inputs, std::move(attrs));
  }
};

struct WindowOptions : ResultOptions {
  Size2 pool_size = 2, strides = 2;
  std::string padding = "valid";
  bool global = false;    // the window is the image
  bool keepdims = false;  // of a global one
};

template <class Config>
Fields<Config> window_fields_of_pool() {
  return {{"pool_size", &Config::pool_size, at_least(1)},
          {"strides", &Config::strides, at_least(1)},
          {"padding", &Config::padding, one_of({"valid", "same"})},
          {"global", &Config::global},
          {"keepdims", &Config::keepdims}};
}

struct QuantizedMaxConfig : WindowOptions {
  static constexpr const char* kKind = "QuantizedMaxPooling2D";
  static constexpr const char* kOp = "quantized_max_pool2d";
  static Fields<QuantizedMaxConfig> fields() { return window_fields_of_pool<QuantizedMaxConfig>(); }
  void add_to(Attrs&) const {}
};

struct QuantizedMeanConfig : WindowOptions {
  double input_scale = 1;
  int64_t input_zero_point = 0;
  static constexpr const char* kKind = "QuantizedAveragePooling2D";
  static constexpr const char* kOp = "quantized_avg_pool2d";
  static Fields<QuantizedMeanConfig> fields() {
    using C = QuantizedMeanConfig;
    return window_fields_of_pool<C>()
        .then({{"input_scale", &C::input_scale, above(0)},
               {"input_zero_point", &C::input_zero_point, between(0, kLastCode)}})
        .then(result_fields<C>());
  }
  void add_to(Attrs& attrs) const {
    attrs.set("x_scale", input_scale);
    attrs.set("x_zero_point", input_zero_point);
    set_result(*this, attrs);
  }
};

template <class Config>
class QuantizedPoolLayer : public Configured<SingleInputLayer, Config> {
 public:
  using Configured<SingleInputLayer, Config>::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    this->expect_image(x.shape());
    const Config& how = this->options();
    const Shape& shape = x.shape();
    Ints window = {how.pool_size.height, how.pool_size.width},
         strides = {how.strides.height, how.strides.width}, pads = {0, 0, 0, 0};
    if (how.global) window = strides = {shape[1], shape[2]};
    if (!how.global && how.padding == "same") {
      ops::Padding same =
          ops::same_padding(shape, {window[0], window[1]}, {strides[0], strides[1]});
      pads = {same.top, same.bottom, same.left, same.right};
    }
    Attrs attrs = {{"window", window}, {"strides", strides}, {"pads", pads}};
    how.add_to(attrs);
    Value y = apply1(Config::kOp, {x}, std::move(attrs));
    return how.global && !how.keepdims ? ops::reshape(y, {shape[0], shape[3]}) : y;
  }
};

struct QuantizedActivationConfig : LayerOptions {
  static constexpr const char* kKind = "QuantizedActivation";
  static Fields<QuantizedActivationConfig> fields() { return {}; }
};

// Any function of one number: a table of what is stored for each of the 256 codes.
class QuantizedActivationLayer : public Configured<SteadyLayer, QuantizedActivationConfig> {
 public:
  using Configured::Configured;

 protected:
  void build_for(const Shape&) override {
    table_ = add_weight("table", {256},
                        {.initializer = "zeros", .trainable = false, .dtype = DType::uint8});
  }
  Value forward(const Value& x, CallContext&) override {
    return apply1("quantized_lookup", {x, table_});
  }

 private:
  Variable table_;
};

struct QuantizedPaddingConfig : LayerOptions {
  Edges2 padding = 1;
  int64_t zero_point = 0;
  static constexpr const char* kKind = "QuantizedZeroPadding2D";
  static Fields<QuantizedPaddingConfig> fields() {
    return {{"padding", &QuantizedPaddingConfig::padding, at_least(0)},
            {"zero_point", &QuantizedPaddingConfig::zero_point, between(0, kLastCode)}};
  }
};

class QuantizedPaddingLayer : public Configured<SingleInputLayer, QuantizedPaddingConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_image(x.shape());
    const Edges2& by = options().padding;
    return ops::pad(x, {0, by.top, by.left, 0}, {0, by.bottom, by.right, 0},
                    double(options().zero_point));
  }
};

}  // namespace

void add_quantized_layers(LayerKinds& kinds) {
  add_layer<QuantizeLayer>(kinds);
  add_layer<DequantizeLayer>(kinds);
  add_layer<QuantizedPairLayer<QuantizedAddConfig>>(kinds);
  add_layer<QuantizedPairLayer<QuantizedMultiplyConfig>>(kinds);
  add_layer<QuantizedPoolLayer<QuantizedMaxConfig>>(kinds);
  add_layer<QuantizedPoolLayer<QuantizedMeanConfig>>(kinds);
  add_layer<QuantizedActivationLayer>(kinds);
  add_layer<QuantizedPaddingLayer>(kinds);
}

}  // namespace stoker
