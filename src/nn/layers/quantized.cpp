// The layers of int8 models, which compress makes: values in between are uint8. Kernels are int8,
// [units, inputs] or [filters, kh, kw, C / groups], with one scale per filter; the int32 bias is in
// units of input_scale · scale and holds − input_zero_point · Σ kernel.
#include <fmt/format.h>

#include "graph/functions/volume.h"
#include "graph/op.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

constexpr double kLastCode = 255;

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

// Where the result of a layer goes.
struct ResultOptions : LayerOptions {
  double output_scale = 1;
  int64_t output_zero_point = 0;
  int64_t low = 0, high = 255;   // of what is stored: a relu is low = output_zero_point
  std::string output = "uint8";  // or "float32"
};

template <class Config>
Fields<Config> result_fields() {
  return {{"output_scale", &Config::output_scale, above(0)},
          {"output_zero_point", &Config::output_zero_point, between(0, kLastCode)},
          {"low", &Config::low, between(0, kLastCode)},
          {"high", &Config::high, between(0, kLastCode)},
          {"output", &Config::output, one_of({"uint8", "float32"})}};
}

void set_result(const ResultOptions& options, Attrs& attrs) {
  attrs.set("dtype", options.output);
  attrs.set("y_scale", options.output_scale);
  attrs.set("y_zero_point", options.output_zero_point);
  attrs.set("low", options.low);
  attrs.set("high", options.high);
}

// --- products ------------------------------------------------------------------------------------

struct ProductOptions : ResultOptions {
  double input_scale = 1;
  int64_t input_zero_point = 0;
  int64_t weight_bits = 8;
  ActivationFunction activation = {};  // of a float32 result
  Doubles scales = {};                 // of the kernel, one per filter
};

template <class Config>
Fields<Config> product_fields() {
  return Fields<Config>{{"input_scale", &Config::input_scale, above(0)},
                        {"input_zero_point", &Config::input_zero_point, between(0, kLastCode)},
                        {"weight_bits", &Config::weight_bits, between(7, 8)},
                        {"scales", &Config::scales, {.check = above(0), .required = true}},
                        {"activation", &Config::activation}}
      .then(result_fields<Config>());
}

template <class Config>
class QuantizedProduct : public Configured<SingleInputLayer, Config> {
 protected:
  using Configured<SingleInputLayer, Config>::Configured;

  void add_weights(const Shape& kernel) {
    const Doubles& scales = this->options().scales;
    if (int64_t(scales.size()) != kernel[0])
      this->fail_option(
          fmt::format("expected {} scales, one per filter, got {}", kernel[0], scales.size()));
    auto add = [&](const char* name, const Shape& shape, DType dtype) {
      return this->add_weight(name, shape,
                              {.initializer = "zeros", .trainable = false, .dtype = dtype});
    };
    kernel_ = add("kernel", kernel, DType::int8);
    bias_ = add("bias", {kernel[0]}, DType::int32);
    scales_ = Tensor::from(std::vector<float>(scales.begin(), scales.end()), {kernel[0]});
  }

  Value product(const char* op, const Value& x, Attrs attrs) const {
    const Config& how = this->options();
    attrs.set("x_scale", how.input_scale);
    attrs.set("x_zero_point", how.input_zero_point);
    attrs.set("weight_bits", how.weight_bits);
    set_result(how, attrs);
    Value y = apply1(op, {x, kernel_, Value(scales_), bias_}, std::move(attrs));
    return how.output == "float32" ? how.activation(y) : y;
  }

  // The op's own padding is the code 0. Where that is not the number 0, the image gets its padding
  // first, and `pads` becomes none.
  Value padded(const Value& x, ops::Padding& pads) const {
    int64_t zero_point = this->options().input_zero_point;
    bool none = pads.top + pads.bottom + pads.left + pads.right == 0;
    if (none || zero_point == 0) return x;
    Value wide = ops::pad(x, {0, pads.top, pads.left, 0}, {0, pads.bottom, pads.right, 0},
                          double(zero_point));
    pads = {};
    return wide;
  }

  Variable kernel_, bias_;
  Tensor scales_;  // a constant of the graph: engines build it into their kernels
};

struct QuantizedDenseConfig : ProductOptions {
  int64_t units = 0;
  static constexpr const char* kKind = "QuantizedDense";
  static Fields<QuantizedDenseConfig> fields() {
    using C = QuantizedDenseConfig;
    return Fields<C>{{"units", &C::units, {.check = at_least(1), .required = true}}}.then(
        product_fields<C>());
  }
};

class QuantizedDenseLayer : public QuantizedProduct<QuantizedDenseConfig> {
 public:
  using QuantizedProduct::QuantizedProduct;
  bool supports_masking() const override { return true; }

 protected:
  void build_for(const Shape& input) override {
    if (input.rank() < 2) fail_input("input of 2 or more dimensions, [B, features]", input);
    add_weights({options().units, input[-1]});
  }
  Value forward(const Value& x, CallContext&) override {
    return product("quantized_matmul", x, {});
  }
};

struct QuantizedConv2DConfig : ProductOptions {
  int64_t filters = 0;
  Size2 kernel_size = 1, strides = 1, dilation_rate = 1;
  std::string padding = "valid";
  int64_t groups = 1;
  static constexpr const char* kKind = "QuantizedConv2D";
  static Fields<QuantizedConv2DConfig> fields() {
    using C = QuantizedConv2DConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}},
                     {"groups", &C::groups, at_least(1)},
                     {"kernel_size", &C::kernel_size, at_least(1)},
                     {"strides", &C::strides, at_least(1)},
                     {"padding", &C::padding, one_of({"valid", "same"})},
                     {"dilation_rate", &C::dilation_rate, at_least(1)}}
        .then(product_fields<C>());
  }
};

class QuantizedConv2DLayer : public QuantizedProduct<QuantizedConv2DConfig> {
 public:
  using QuantizedProduct::QuantizedProduct;

 protected:
  void build_for(const Shape& input) override {
    expect_image(input);
    const auto& how = options();
    if (input[3] < 1 || input[3] % how.groups != 0 || how.filters % how.groups != 0)
      fail_input(fmt::format("channels and filters that {} groups can share", how.groups), input);
    add_weights(
        {how.filters, how.kernel_size.height, how.kernel_size.width, input[3] / how.groups});
  }

  Value forward(const Value& x, CallContext&) override {
    const auto& how = options();
    ops::Padding pads;
    if (how.padding == "same")
      pads = ops::same_padding(x.shape(), pair(how.kernel_size), pair(how.strides),
                               pair(how.dilation_rate));
    Value image = padded(x, pads);
    return product("quantized_conv2d", image,
                   {{"strides", Ints{how.strides.height, how.strides.width}},
                    {"pads", Ints{pads.top, pads.bottom, pads.left, pads.right}},
                    {"dilation", Ints{how.dilation_rate.height, how.dilation_rate.width}},
                    {"groups", how.groups}});
  }

 private:
  static std::array<int64_t, 2> pair(Size2 size) { return {size.height, size.width}; }
};

// Over volumes [B, D, H, W, C]: the planes that a window covers stand beside each other as channels,
// so the kernel is [filters, kh, kw, kd · C / groups].
struct QuantizedConv3DConfig : ProductOptions {
  int64_t filters = 0;
  Size3 kernel_size = 1, strides = 1, dilation_rate = 1;
  std::string padding = "valid";
  int64_t groups = 1;
  static constexpr const char* kKind = "QuantizedConv3D";
  static Fields<QuantizedConv3DConfig> fields() {
    using C = QuantizedConv3DConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}},
                     {"groups", &C::groups, at_least(1)},
                     {"kernel_size", &C::kernel_size, at_least(1)},
                     {"strides", &C::strides, at_least(1)},
                     {"padding", &C::padding, one_of({"valid", "same"})},
                     {"dilation_rate", &C::dilation_rate, at_least(1)}}
        .then(product_fields<C>());
  }
};

class QuantizedConv3DLayer : public QuantizedProduct<QuantizedConv3DConfig> {
 public:
  using QuantizedProduct::QuantizedProduct;

 protected:
  void build_for(const Shape& input) override {
    const auto& how = options();
    if (input.rank() != 5) fail_input("5-D input [B, D, H, W, C]", input);
    if (input[4] < 1 || input[4] % how.groups != 0 || how.filters % how.groups != 0)
      fail_input(fmt::format("channels and filters that {} groups can share", how.groups), input);
    add_weights({how.filters, how.kernel_size.height, how.kernel_size.width,
                 how.kernel_size.depth * input[4] / how.groups});
  }

  Value forward(const Value& x, CallContext&) override {
    const auto& how = options();
    ops::Conv3 window{.strides = extents(how.strides),
                      .dilation = extents(how.dilation_rate),
                      .groups = how.groups};
    if (how.padding == "same")
      window.padding =
          ops::same_padding3d(x.shape(), extents(how.kernel_size), window.strides, window.dilation);
    ops::Planes planes =
        ops::window_planes(x, how.kernel_size.depth, window, double(how.input_zero_point));
    const auto& [depth, height, width] = window.padding;
    ops::Padding pads{height[0], height[1], width[0], width[1]};
    Value image = padded(planes.y, pads);
    Value y = product("quantized_conv2d", image,
                      {{"strides", Ints{how.strides.height, how.strides.width}},
                       {"pads", Ints{pads.top, pads.bottom, pads.left, pads.right}},
                       {"dilation", Ints{how.dilation_rate.height, how.dilation_rate.width}},
                       {"groups", how.groups}});
    return ops::as_volume(y, planes.depth);
  }
};

// --- between products ------------------------------------------------------------------------------

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
  add_layer<QuantizedDenseLayer>(kinds);
  add_layer<QuantizedConv2DLayer>(kinds);
  add_layer<QuantizedConv3DLayer>(kinds);
  add_layer<QuantizedPairLayer<QuantizedAddConfig>>(kinds);
  add_layer<QuantizedPairLayer<QuantizedMultiplyConfig>>(kinds);
  add_layer<QuantizedPoolLayer<QuantizedMaxConfig>>(kinds);
  add_layer<QuantizedPoolLayer<QuantizedMeanConfig>>(kinds);
  add_layer<QuantizedActivationLayer>(kinds);
  add_layer<QuantizedPaddingLayer>(kinds);
}

}  // namespace stoker
