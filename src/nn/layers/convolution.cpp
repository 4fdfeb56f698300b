// Conv2D, DepthwiseConv2D, SeparableConv2D. Images are [B, H, W, C].
#include <fmt/format.h>

#include "nn/config.h"
#include "nn/layers/affine_layer.h"
#include "nn/layers/families.h"

namespace stoker {

namespace {

std::array<int64_t, 2> pair(Size2 size) { return {size.height, size.width}; }

// How the window moves, the same for the three.
struct Geometry {
  Size2 kernel_size;
  Size2 strides;
  std::string padding;
  Size2 dilation_rate;

  ops::Conv at(const Shape& input, int64_t groups = 1) const {
    ops::Conv conv{.strides = pair(strides), .dilation = pair(dilation_rate), .groups = groups};
    if (padding == "same")
      conv.padding =
          ops::same_padding(input, pair(kernel_size), pair(strides), pair(dilation_rate));
    return conv;
  }

  void put(Attrs& attrs) const {
    config::put(attrs, "kernel_size", kernel_size);
    config::put(attrs, "strides", strides);
    attrs.set("padding", padding);
    config::put(attrs, "dilation_rate", dilation_rate);
  }
};

class ConvolutionLayer : public AffineLayer {
 protected:
  template <class Options>
  ConvolutionLayer(Size2 kernel_size, const Options& options)
      : AffineLayer(options.name, affine_options(options)),
        geometry_{kernel_size, options.strides, options.padding, options.dilation_rate} {}

  void check_geometry() const {
    expect_padding(geometry_.padding);
    expect_positive("kernel_size", geometry_.kernel_size);
    expect_positive("strides", geometry_.strides);
    expect_positive("dilation_rate", geometry_.dilation_rate);
  }

  void expect_channels(const Shape& input, int64_t channels) const {
    expect_image(input);
    if (input[3] != channels)
      fail_input(fmt::format("input [B, H, W, {}], which it was built for", channels), input);
  }

  Shape kernel_shape(int64_t in, int64_t out) const {
    return {geometry_.kernel_size.height, geometry_.kernel_size.width, in, out};
  }

  Geometry geometry_;
};

class Conv2DLayer : public ConvolutionLayer {
 public:
  Conv2DLayer(int64_t filters, Size2 kernel_size, const Conv2DOptions& options)
      : ConvolutionLayer(kernel_size, options),
        filters_(filters),
        groups_(options.groups),
        initializer_(options.kernel_initializer),
        regularizer_(options.kernel_regularizer) {
    check_geometry();
    expect_positive("filters", filters);
    expect_positive("groups", groups_);
    if (filters % groups_ != 0)
      fail_option(fmt::format("{} filters cannot be shared by {} groups", filters, groups_));
  }

  std::string kind() const override { return "Conv2D"; }

  Attrs config() const override {
    Attrs attrs = {{"filters", filters_}, {"groups", groups_}};
    geometry_.put(attrs);
    config::put(attrs, "kernel_initializer", initializer_);
    config::put(attrs, "kernel_regularizer", regularizer_);
    put_affine(attrs);
    return attrs;
  }

 protected:
  void build_for(const Shape& input) override {
    expect_image(input);
    if (input[3] % groups_ != 0)
      fail_input(fmt::format("a number of channels that {} groups can share", groups_), input);
    kernel_ = add_weight("kernel", kernel_shape(input[3] / groups_, filters_),
                         {.initializer = initializer_, .regularizer = regularizer_});
    add_bias(filters_);
  }

  Value linear(const Value& x, const Value& kernel) override {
    expect_channels(x.shape(), kernel.shape()[2] * groups_);
    return ops::conv2d(x, kernel, geometry_.at(x.shape(), groups_));
  }

 private:
  int64_t filters_, groups_;
  Initializer initializer_;
  Regularizer regularizer_;
};

class DepthwiseConv2DLayer : public ConvolutionLayer {
 public:
  DepthwiseConv2DLayer(Size2 kernel_size, const DepthwiseConv2DOptions& options)
      : ConvolutionLayer(kernel_size, options),
        multiplier_(options.depth_multiplier),
        initializer_(options.depthwise_initializer),
        regularizer_(options.depthwise_regularizer) {
    check_geometry();
    expect_positive("depth_multiplier", multiplier_);
  }

  std::string kind() const override { return "DepthwiseConv2D"; }

  Attrs config() const override {
    Attrs attrs = {{"depth_multiplier", multiplier_}};
    geometry_.put(attrs);
    config::put(attrs, "depthwise_initializer", initializer_);
    config::put(attrs, "depthwise_regularizer", regularizer_);
    put_affine(attrs);
    return attrs;
  }

 protected:
  void build_for(const Shape& input) override {
    expect_image(input);
    kernel_ = add_weight("kernel", kernel_shape(input[3], multiplier_),
                         {.initializer = initializer_, .regularizer = regularizer_});
    add_bias(input[3] * multiplier_);
  }

  Value linear(const Value& x, const Value& kernel) override {
    expect_channels(x.shape(), kernel.shape()[2]);
    return ops::depthwise_conv2d(x, kernel, geometry_.at(x.shape()));
  }

 private:
  int64_t multiplier_;
  Initializer initializer_;
  Regularizer regularizer_;
};

// The kernel that AffineLayer knows is the pointwise one.
class SeparableConv2DLayer : public ConvolutionLayer {
 public:
  SeparableConv2DLayer(int64_t filters, Size2 kernel_size, const SeparableConv2DOptions& options)
      : ConvolutionLayer(kernel_size, options),
        filters_(filters),
        multiplier_(options.depth_multiplier),
        depthwise_initializer_(options.depthwise_initializer),
        pointwise_initializer_(options.pointwise_initializer),
        depthwise_regularizer_(options.depthwise_regularizer),
        pointwise_regularizer_(options.pointwise_regularizer) {
    check_geometry();
    expect_positive("filters", filters);
    expect_positive("depth_multiplier", multiplier_);
  }

  std::string kind() const override { return "SeparableConv2D"; }

  Attrs config() const override {
    Attrs attrs = {{"filters", filters_}, {"depth_multiplier", multiplier_}};
    geometry_.put(attrs);
    config::put(attrs, "depthwise_initializer", depthwise_initializer_);
    config::put(attrs, "pointwise_initializer", pointwise_initializer_);
    config::put(attrs, "depthwise_regularizer", depthwise_regularizer_);
    config::put(attrs, "pointwise_regularizer", pointwise_regularizer_);
    put_affine(attrs);
    return attrs;
  }

 protected:
  void build_for(const Shape& input) override {
    expect_image(input);
    depthwise_ =
        add_weight("depthwise_kernel", kernel_shape(input[3], multiplier_),
                   {.initializer = depthwise_initializer_, .regularizer = depthwise_regularizer_});
    kernel_ =
        add_weight("pointwise_kernel", {1, 1, input[3] * multiplier_, filters_},
                   {.initializer = pointwise_initializer_, .regularizer = pointwise_regularizer_});
    add_bias(filters_);
  }

  Value linear(const Value& x, const Value& pointwise) override {
    expect_channels(x.shape(), depthwise_.shape()[2]);
    return ops::conv2d(ops::depthwise_conv2d(x, depthwise_, geometry_.at(x.shape())), pointwise);
  }

 private:
  int64_t filters_, multiplier_;
  Initializer depthwise_initializer_, pointwise_initializer_;
  Regularizer depthwise_regularizer_, pointwise_regularizer_;
  Variable depthwise_;
};

// --- from a configuration ------------------------------------------------------------------------

template <class Options>
Options common_options(const Attrs& attrs) {
  Options options;
  options.strides = config::size(attrs, "strides", options.strides);
  options.padding = config::text(attrs, "padding", options.padding);
  options.dilation_rate = config::size(attrs, "dilation_rate", options.dilation_rate);
  set_affine(options, attrs);
  return options;
}

// 0, which the constructors refuse, where it is missing.
Size2 kernel_size(const Attrs& attrs) { return config::size(attrs, "kernel_size", 0); }

Layer conv2d_from(const Attrs& attrs) {
  auto options = common_options<Conv2DOptions>(attrs);
  options.groups = attrs.get_or("groups", options.groups);
  options.kernel_initializer =
      config::initializer(attrs, "kernel_initializer", options.kernel_initializer);
  options.kernel_regularizer = config::regularizer(attrs, "kernel_regularizer");
  return Conv2D(config::integer(attrs, "filters"), kernel_size(attrs), options);
}

Layer depthwise_from(const Attrs& attrs) {
  auto options = common_options<DepthwiseConv2DOptions>(attrs);
  options.depth_multiplier = attrs.get_or("depth_multiplier", options.depth_multiplier);
  options.depthwise_initializer =
      config::initializer(attrs, "depthwise_initializer", options.depthwise_initializer);
  options.depthwise_regularizer = config::regularizer(attrs, "depthwise_regularizer");
  return DepthwiseConv2D(kernel_size(attrs), options);
}

Layer separable_from(const Attrs& attrs) {
  auto options = common_options<SeparableConv2DOptions>(attrs);
  options.depth_multiplier = attrs.get_or("depth_multiplier", options.depth_multiplier);
  options.depthwise_initializer =
      config::initializer(attrs, "depthwise_initializer", options.depthwise_initializer);
  options.pointwise_initializer =
      config::initializer(attrs, "pointwise_initializer", options.pointwise_initializer);
  options.depthwise_regularizer = config::regularizer(attrs, "depthwise_regularizer");
  options.pointwise_regularizer = config::regularizer(attrs, "pointwise_regularizer");
  return SeparableConv2D(config::integer(attrs, "filters"), kernel_size(attrs), options);
}

}  // namespace

Conv2D::Conv2D(int64_t filters, Size2 kernel_size, const Conv2DOptions& options)
    : Layer(std::make_shared<Conv2DLayer>(filters, kernel_size, options), options.dtype) {}

DepthwiseConv2D::DepthwiseConv2D(Size2 kernel_size, const DepthwiseConv2DOptions& options)
    : Layer(std::make_shared<DepthwiseConv2DLayer>(kernel_size, options), options.dtype) {}

SeparableConv2D::SeparableConv2D(int64_t filters, Size2 kernel_size,
                                 const SeparableConv2DOptions& options)
    : Layer(std::make_shared<SeparableConv2DLayer>(filters, kernel_size, options), options.dtype) {}

void add_convolution_layers(LayerFactories& factories) {
  factories["Conv2D"] = conv2d_from;
  factories["DepthwiseConv2D"] = depthwise_from;
  factories["SeparableConv2D"] = separable_from;
}

}  // namespace stoker
