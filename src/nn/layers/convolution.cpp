// Conv2D, DepthwiseConv2D, SeparableConv2D. Images are [B, H, W, C].
#include <fmt/format.h>

#include "nn/layers/affine_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/kernel_options.h"

namespace stoker {

namespace {

std::array<int64_t, 2> pair(Size2 size) { return {size.height, size.width}; }

// How the window moves, the same for the three.
template <class Config>
Fields<Config> window_fields() {
  return {{"kernel_size", &Config::kernel_size, at_least(1)},
          {"strides", &Config::strides, at_least(1)},
          {"padding", &Config::padding, one_of({"valid", "same"})},
          {"dilation_rate", &Config::dilation_rate, at_least(1)}};
}

struct Conv2DConfig : Conv2DOptions {
  int64_t filters = 0;
  Size2 kernel_size = 0;
  static constexpr const char* kKind = "Conv2D";
  static Fields<Conv2DConfig> fields() {
    using C = Conv2DConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}},
                     {"groups", &C::groups, at_least(1)}}
        .then(window_fields<C>())
        .then(kernel_fields<C>())
        .then(affine_fields<C>());
  }
};

struct DepthwiseConv2DConfig : DepthwiseConv2DOptions {
  Size2 kernel_size = 0;
  static constexpr const char* kKind = "DepthwiseConv2D";
  static Fields<DepthwiseConv2DConfig> fields() {
    using C = DepthwiseConv2DConfig;
    return Fields<C>{{"depth_multiplier", &C::depth_multiplier, at_least(1)}}
        .then(window_fields<C>())
        .then(depthwise_fields<C>())
        .then(affine_fields<C>());
  }
};

struct SeparableConv2DConfig : SeparableConv2DOptions {
  int64_t filters = 0;
  Size2 kernel_size = 0;
  static constexpr const char* kKind = "SeparableConv2D";
  static Fields<SeparableConv2DConfig> fields() {
    using C = SeparableConv2DConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}},
                     {"depth_multiplier", &C::depth_multiplier, at_least(1)}}
        .then(window_fields<C>())
        .then(separable_fields<C>())
        .then(affine_fields<C>());
  }
};

template <class Config>
class ConvolutionLayer : public Configured<AffineLayer, Config> {
 protected:
  using Configured<AffineLayer, Config>::Configured;

  void expect_channels(const Shape& input, int64_t channels) const {
    this->expect_image(input);
    if (input[3] != channels)
      this->fail_input(fmt::format("input [B, H, W, {}], which it was built for", channels), input);
  }

  Shape kernel_shape(int64_t in, int64_t out) const {
    Size2 size = this->options().kernel_size;
    return {size.height, size.width, in, out};
  }

  ops::Conv window(const Shape& input, int64_t groups = 1) const {
    const Config& how = this->options();
    ops::Conv conv{
        .strides = pair(how.strides), .dilation = pair(how.dilation_rate), .groups = groups};
    if (how.padding == "same")
      conv.padding = ops::same_padding(input, pair(how.kernel_size), pair(how.strides),
                                       pair(how.dilation_rate));
    return conv;
  }
};

class Conv2DLayer : public ConvolutionLayer<Conv2DConfig> {
 public:
  explicit Conv2DLayer(Conv2DConfig config) : ConvolutionLayer(std::move(config)) {
    check_groups(options().filters, options().groups);
  }

 protected:
  void build_for(const Shape& input) override {
    expect_image(input);
    int64_t channels = channels_of_group(input, options().groups);
    kernel_ =
        add_weight("kernel", kernel_shape(channels, options().filters), kernel_weight(options()));
    add_bias(options().filters);
  }

  Value linear(const Value& x, const Value& kernel) override {
    int64_t groups = options().groups;
    expect_channels(x.shape(), kernel.shape()[2] * groups);
    bool depthwise = groups > 1 && kernel.shape()[2] == 1 && groups == options().filters;
    if (!depthwise) return ops::conv2d(x, kernel, window(x.shape(), groups));
    // A group per channel, as Keras writes ConvNeXt: the same numbers, and kernels of its own on a GPU.
    return ops::depthwise_conv2d(x, ops::reshape(kernel, kernel_shape(groups, 1)),
                                 window(x.shape()));
  }
};

class DepthwiseConv2DLayer : public ConvolutionLayer<DepthwiseConv2DConfig> {
 public:
  using ConvolutionLayer::ConvolutionLayer;

 protected:
  void build_for(const Shape& input) override {
    expect_image(input);
    int64_t multiplier = options().depth_multiplier;
    kernel_ = add_weight("kernel", kernel_shape(input[3], multiplier), depthwise_weight(options()));
    add_bias(input[3] * multiplier);
  }

  Value linear(const Value& x, const Value& kernel) override {
    expect_channels(x.shape(), kernel.shape()[2]);
    return ops::depthwise_conv2d(x, kernel, window(x.shape()));
  }
};

// The kernel that AffineLayer knows is the pointwise one.
class SeparableConv2DLayer : public ConvolutionLayer<SeparableConv2DConfig> {
 public:
  using ConvolutionLayer::ConvolutionLayer;

 protected:
  void build_for(const Shape& input) override {
    expect_image(input);
    int64_t multiplier = options().depth_multiplier, filters = options().filters;
    depthwise_ = add_weight("depthwise_kernel", kernel_shape(input[3], multiplier),
                            depthwise_weight(options()));
    kernel_ = add_weight("pointwise_kernel", {1, 1, input[3] * multiplier, filters},
                         pointwise_weight(options()));
    add_bias(filters);
  }

  Value linear(const Value& x, const Value& pointwise) override {
    expect_channels(x.shape(), depthwise_.shape()[2]);
    return ops::conv2d(ops::depthwise_conv2d(x, depthwise_, window(x.shape())), pointwise);
  }

 private:
  Variable depthwise_;
};

}  // namespace

Conv2D::Conv2D(int64_t filters, Size2 kernel_size, const Conv2DOptions& options)
    : Layer(configured<Conv2DLayer>({options, filters, kernel_size})) {}

DepthwiseConv2D::DepthwiseConv2D(Size2 kernel_size, const DepthwiseConv2DOptions& options)
    : Layer(configured<DepthwiseConv2DLayer>({options, kernel_size})) {}

SeparableConv2D::SeparableConv2D(int64_t filters, Size2 kernel_size,
                                 const SeparableConv2DOptions& options)
    : Layer(configured<SeparableConv2DLayer>({options, filters, kernel_size})) {}

void add_convolution_layers(LayerKinds& kinds) {
  add_layer<Conv2DLayer>(kinds);
  add_layer<DepthwiseConv2DLayer>(kinds);
  add_layer<SeparableConv2DLayer>(kinds);
}

}  // namespace stoker
