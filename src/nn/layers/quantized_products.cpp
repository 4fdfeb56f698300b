// The products of int8 models, which compress makes: dense layers and convolutions. Kernels are int8,
// [units, inputs] or [filters, kh, kw, C / groups], with one scale per filter; the int32 bias is in
// units of input_scale · scale and holds − input_zero_point · Σ kernel.
#include <fmt/format.h>

#include "graph/functions/volume.h"
#include "graph/op.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/quantized.h"
#include "nn/layers/single_input_layer.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

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

template <class Size>
struct QuantizedConvOptions : ProductOptions {
  int64_t filters = 0;
  Size kernel_size = 1, strides = 1, dilation_rate = 1;
  std::string padding = "valid";
  int64_t groups = 1;
};

template <class Config>
Fields<Config> quantized_conv_fields() {
  return Fields<Config>{{"filters", &Config::filters, {.check = at_least(1), .required = true}},
                        {"groups", &Config::groups, at_least(1)},
                        {"kernel_size", &Config::kernel_size, at_least(1)},
                        {"strides", &Config::strides, at_least(1)},
                        {"padding", &Config::padding, one_of({"valid", "same"})},
                        {"dilation_rate", &Config::dilation_rate, at_least(1)}}
      .then(product_fields<Config>());
}

// Convolves planes [B, H, W, C] with what is common to both kinds.
template <class Config>
class QuantizedConvLayer : public QuantizedProduct<Config> {
 protected:
  using QuantizedProduct<Config>::QuantizedProduct;

  // The last axis of the input is its channels.
  void expect_channels(const Shape& input) const {
    const Config& how = this->options();
    if (input[-1] < 1 || input[-1] % how.groups != 0 || how.filters % how.groups != 0)
      this->fail_input(fmt::format("channels and filters that {} groups can share", how.groups),
                       input);
  }

  Value convolved(const Value& planes, ops::Padding pads) const {
    const Config& how = this->options();
    Value image = this->padded(planes, pads);
    return this->product("quantized_conv2d", image,
                         {{"strides", Ints{how.strides.height, how.strides.width}},
                          {"pads", Ints{pads.top, pads.bottom, pads.left, pads.right}},
                          {"dilation", Ints{how.dilation_rate.height, how.dilation_rate.width}},
                          {"groups", how.groups}});
  }
};

struct QuantizedConv2DConfig : QuantizedConvOptions<Size2> {
  static constexpr const char* kKind = "QuantizedConv2D";
  static Fields<QuantizedConv2DConfig> fields() {
    return quantized_conv_fields<QuantizedConv2DConfig>();
  }
};

class QuantizedConv2DLayer : public QuantizedConvLayer<QuantizedConv2DConfig> {
 public:
  using QuantizedConvLayer::QuantizedConvLayer;

 protected:
  void build_for(const Shape& input) override {
    expect_image(input);
    expect_channels(input);
    const auto& how = options();
    add_weights(
        {how.filters, how.kernel_size.height, how.kernel_size.width, input[3] / how.groups});
  }

  Value forward(const Value& x, CallContext&) override {
    const auto& how = options();
    ops::Padding pads;
    if (how.padding == "same")
      pads = ops::same_padding(x.shape(), pair(how.kernel_size), pair(how.strides),
                               pair(how.dilation_rate));
    return convolved(x, pads);
  }

 private:
  static std::array<int64_t, 2> pair(Size2 size) { return {size.height, size.width}; }
};

// Over volumes [B, D, H, W, C]: the planes that a window covers stand beside each other as channels,
// so the kernel is [filters, kh, kw, kd · C / groups].
struct QuantizedConv3DConfig : QuantizedConvOptions<Size3> {
  static constexpr const char* kKind = "QuantizedConv3D";
  static Fields<QuantizedConv3DConfig> fields() {
    return quantized_conv_fields<QuantizedConv3DConfig>();
  }
};

class QuantizedConv3DLayer : public QuantizedConvLayer<QuantizedConv3DConfig> {
 public:
  using QuantizedConvLayer::QuantizedConvLayer;

 protected:
  void build_for(const Shape& input) override {
    if (input.rank() != 5) fail_input("5-D input [B, D, H, W, C]", input);
    expect_channels(input);
    const auto& how = options();
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
    return ops::as_volume(convolved(planes.y, pads), planes.depth);
  }
};

}  // namespace

void add_quantized_products(LayerKinds& kinds) {
  add_layer<QuantizedDenseLayer>(kinds);
  add_layer<QuantizedConv2DLayer>(kinds);
  add_layer<QuantizedConv3DLayer>(kinds);
}

}  // namespace stoker
