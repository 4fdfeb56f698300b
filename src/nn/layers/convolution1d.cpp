// Conv1D, DepthwiseConv1D, SeparableConv1D, Conv1DTranspose. A sequence [B, T, C] is an image of one
// row, [B, 1, T, C]: the convolutions of images do the work, on every engine.
#include <fmt/format.h>

#include "nn/layers/affine_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/kernel_options.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

Value as_row(const Value& sequence) { return ops::expand_dims(sequence, 1); }
// [k, in, out] → [1, k, in, out]
Value as_row_kernel(const Value& kernel) { return ops::expand_dims(kernel, 0); }

template <class Config>
Fields<Config> sequence_window_fields(const Check& paddings) {
  return {{"kernel_size", &Config::kernel_size, {.check = at_least(1), .required = true}},
          {"strides", &Config::strides, at_least(1)},
          {"padding", &Config::padding, paddings},
          {"dilation_rate", &Config::dilation_rate, at_least(1)}};
}

struct Conv1DConfig : Conv1DOptions {
  int64_t filters = 0, kernel_size = 0;
  static constexpr const char* kKind = "Conv1D";
  static Fields<Conv1DConfig> fields() {
    using C = Conv1DConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}},
                     {"groups", &C::groups, at_least(1)}}
        .then(sequence_window_fields<C>(one_of({"valid", "same", "causal"})))
        .then(kernel_fields<C>())
        .then(affine_fields<C>());
  }
};

struct DepthwiseConv1DConfig : DepthwiseConv1DOptions {
  int64_t kernel_size = 0;
  static constexpr const char* kKind = "DepthwiseConv1D";
  static Fields<DepthwiseConv1DConfig> fields() {
    using C = DepthwiseConv1DConfig;
    return Fields<C>{{"depth_multiplier", &C::depth_multiplier, at_least(1)}}
        .then(sequence_window_fields<C>(one_of({"valid", "same"})))
        .then(depthwise_fields<C>())
        .then(affine_fields<C>());
  }
};

struct SeparableConv1DConfig : SeparableConv1DOptions {
  int64_t filters = 0, kernel_size = 0;
  static constexpr const char* kKind = "SeparableConv1D";
  static Fields<SeparableConv1DConfig> fields() {
    using C = SeparableConv1DConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}},
                     {"depth_multiplier", &C::depth_multiplier, at_least(1)}}
        .then(sequence_window_fields<C>(one_of({"valid", "same"})))
        .then(separable_fields<C>())
        .then(affine_fields<C>());
  }
};

struct Conv1DTransposeConfig : Conv1DTransposeOptions {
  int64_t filters = 0, kernel_size = 0;
  static constexpr const char* kKind = "Conv1DTranspose";
  static Fields<Conv1DTransposeConfig> fields() {
    using C = Conv1DTransposeConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}}}
        .then(sequence_window_fields<C>(one_of({"valid", "same"})))
        .then({{"output_padding", &C::output_padding, at_least(0)}})
        .then(kernel_fields<C>())
        .then(affine_fields<C>());
  }
};

// linear() returns an image of one row.
template <class Config>
class SequenceConvolution : public Configured<AffineLayer, Config> {
 protected:
  using Configured<AffineLayer, Config>::Configured;
  using Configured<AffineLayer, Config>::options;

  void expect_features(const Shape& input, int64_t channels) const {
    this->expect_sequence(input);
    if (input[2] != channels)
      this->fail_input(fmt::format("input [B, T, {}], which it was built for", channels), input);
  }

  // How the window moves over a row [B, 1, T, C].
  ops::Conv window(const Shape& row, int64_t groups = 1) const {
    int64_t size = options().kernel_size, dilation = options().dilation_rate;
    ops::Conv conv{.strides = {1, options().strides}, .dilation = {1, dilation}, .groups = groups};
    if (options().padding == "same")
      conv.padding = ops::same_padding(row, {1, size}, conv.strides, conv.dilation);
    if (options().padding == "causal") conv.padding.left = dilation * (size - 1);
    return conv;
  }

  Value unfolded(const Value& y) const final { return ops::squeeze(y, 1); }
};

class Conv1DLayer : public SequenceConvolution<Conv1DConfig> {
 public:
  explicit Conv1DLayer(Conv1DConfig config) : SequenceConvolution(std::move(config)) {
    check_groups(options().filters, options().groups);
  }

 protected:
  void build_for(const Shape& input) override {
    expect_sequence(input);
    int64_t channels = channels_of_group(input, options().groups);
    kernel_ = add_weight("kernel", {options().kernel_size, channels, options().filters},
                         kernel_weight(options()));
    add_bias(options().filters);
  }

  Value linear(const Value& x, const Value& kernel) override {
    expect_features(x.shape(), kernel.shape()[1] * options().groups);
    Value row = as_row(x);
    return ops::conv2d(row, as_row_kernel(kernel), window(row.shape(), options().groups));
  }
};

class DepthwiseConv1DLayer : public SequenceConvolution<DepthwiseConv1DConfig> {
 public:
  using SequenceConvolution::SequenceConvolution;

 protected:
  void build_for(const Shape& input) override {
    expect_sequence(input);
    int64_t multiplier = options().depth_multiplier;
    kernel_ = add_weight("kernel", {options().kernel_size, input[2], multiplier},
                         depthwise_weight(options()));
    add_bias(input[2] * multiplier);
  }

  Value linear(const Value& x, const Value& kernel) override {
    expect_features(x.shape(), kernel.shape()[1]);
    Value row = as_row(x);
    return ops::depthwise_conv2d(row, as_row_kernel(kernel), window(row.shape()));
  }
};

// The kernel that AffineLayer knows is the pointwise one.
class SeparableConv1DLayer : public SequenceConvolution<SeparableConv1DConfig> {
 public:
  using SequenceConvolution::SequenceConvolution;

 protected:
  void build_for(const Shape& input) override {
    expect_sequence(input);
    int64_t multiplier = options().depth_multiplier, filters = options().filters;
    depthwise_ = add_weight("depthwise_kernel", {options().kernel_size, input[2], multiplier},
                            depthwise_weight(options()));
    kernel_ = add_weight("pointwise_kernel", {1, input[2] * multiplier, filters},
                         pointwise_weight(options()));
    add_bias(filters);
  }

  Value linear(const Value& x, const Value& pointwise) override {
    expect_features(x.shape(), depthwise_.shape()[1]);
    Value row = as_row(x);
    Value apart = ops::depthwise_conv2d(row, as_row_kernel(depthwise_), window(row.shape()));
    return ops::conv2d(apart, as_row_kernel(pointwise));
  }

 private:
  Variable depthwise_;
};

class Conv1DTransposeLayer : public SequenceConvolution<Conv1DTransposeConfig> {
 public:
  explicit Conv1DTransposeLayer(Conv1DTransposeConfig config)
      : SequenceConvolution(std::move(config)) {
    const auto& [more, strides] = std::pair(options().output_padding, options().strides);
    if (more && *more >= strides)
      fail_option(
          fmt::format("output_padding is {}, expected less than strides, {}", *more, strides));
  }

 protected:
  void build_for(const Shape& input) override {
    expect_sequence(input);
    kernel_ = add_weight("kernel", {options().kernel_size, options().filters, input[2]},
                         kernel_weight(options()));
    add_bias(options().filters);
  }

  Value linear(const Value& x, const Value& kernel) override {
    expect_features(x.shape(), kernel.shape()[2]);
    return ops::conv2d_transpose(as_row(x), as_row_kernel(kernel), transposed());
  }

 private:
  ops::ConvTranspose transposed() const {
    TransposedEdge edge =
        transposed_edge(options().kernel_size, options().strides, options().dilation_rate,
                        options().padding == "same", options().output_padding);
    return {.strides = {1, options().strides},
            .padding = {.left = edge.before, .right = edge.after},
            .output_padding = {0, edge.more},
            .dilation = {1, options().dilation_rate}};
  }
};

}  // namespace

Conv1D::Conv1D(int64_t filters, int64_t kernel_size, const Conv1DOptions& options)
    : Layer(configured<Conv1DLayer>({options, filters, kernel_size})) {}

DepthwiseConv1D::DepthwiseConv1D(int64_t kernel_size, const DepthwiseConv1DOptions& options)
    : Layer(configured<DepthwiseConv1DLayer>({options, kernel_size})) {}

SeparableConv1D::SeparableConv1D(int64_t filters, int64_t kernel_size,
                                 const SeparableConv1DOptions& options)
    : Layer(configured<SeparableConv1DLayer>({options, filters, kernel_size})) {}

Conv1DTranspose::Conv1DTranspose(int64_t filters, int64_t kernel_size,
                                 const Conv1DTransposeOptions& options)
    : Layer(configured<Conv1DTransposeLayer>({options, filters, kernel_size})) {}

void add_convolution1d_layers(LayerKinds& kinds) {
  add_layer<Conv1DLayer>(kinds);
  add_layer<DepthwiseConv1DLayer>(kinds);
  add_layer<SeparableConv1DLayer>(kinds);
  add_layer<Conv1DTransposeLayer>(kinds);
}

}  // namespace stoker
