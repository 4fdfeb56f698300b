// Conv3D, Conv2DTranspose, Conv3DTranspose.
#include <fmt/format.h>

#include "graph/functions/volume.h"
#include "nn/layers/affine_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/kernel_options.h"
#include "nn/layers/spatial.h"

namespace stoker {

namespace {

template <class Config>
Fields<Config> spatial_window_fields() {
  return {{"kernel_size", &Config::kernel_size, {.check = at_least(1), .required = true}},
          {"strides", &Config::strides, at_least(1)},
          {"padding", &Config::padding, one_of({"valid", "same"})},
          {"dilation_rate", &Config::dilation_rate, at_least(1)}};
}

struct Conv3DConfig : Conv3DOptions {
  int64_t filters = 0;
  Size3 kernel_size = 0;
  static constexpr const char* kKind = "Conv3D";
  static Fields<Conv3DConfig> fields() {
    using C = Conv3DConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}},
                     {"groups", &C::groups, at_least(1)}}
        .then(spatial_window_fields<C>())
        .then(kernel_fields<C>())
        .then(affine_fields<C>());
  }
};

template <class Options, class Size>
struct TransposeConfig : Options {
  int64_t filters = 0;
  Size kernel_size = 0;
  static constexpr const char* kKind =
      kSpatialRank<Size> == 2 ? "Conv2DTranspose" : "Conv3DTranspose";
  static Fields<TransposeConfig> fields() {
    using C = TransposeConfig;
    return Fields<C>{{"filters", &C::filters, {.check = at_least(1), .required = true}}}
        .then(spatial_window_fields<C>())
        .then({{"output_padding", &C::output_padding, at_least(0)}})
        .then(kernel_fields<C>())
        .then(affine_fields<C>());
  }
};

// What they share: [B, …, C] with as many axes between as the kernel has.
template <class Config>
class SpatialConvolution : public Configured<AffineLayer, Config> {
 protected:
  using Configured<AffineLayer, Config>::Configured;
  static constexpr size_t kAxes = kSpatialRank<decltype(Config::kernel_size)>;

  void expect_rank(const Shape& input) const {
    if (kAxes == 2) this->expect_image(input);
    if (input.rank() != int(kAxes) + 2)
      this->fail_input(fmt::format("{}-D input {}", kAxes + 2, input_dims(kAxes)), input);
  }
  void expect_built_for(const Shape& input, int64_t channels) const {
    expect_rank(input);
    if (input[-1] != channels)
      this->fail_input(fmt::format("{} channels, which it was built for", channels), input);
  }
  void add_kernel(int64_t a, int64_t b) {
    this->kernel_ =
        this->add_weight("kernel", kernel_shape(size(), a, b), kernel_weight(this->options()));
    this->add_bias(this->options().filters);
  }
  auto size() const { return extents(this->options().kernel_size); }
  auto strides() const { return extents(this->options().strides); }
  auto dilation() const { return extents(this->options().dilation_rate); }
};

class Conv3DLayer : public SpatialConvolution<Conv3DConfig> {
 public:
  explicit Conv3DLayer(Conv3DConfig config) : SpatialConvolution(std::move(config)) {
    check_groups(options().filters, options().groups);
  }

 protected:
  void build_for(const Shape& input) override {
    expect_rank(input);
    add_kernel(channels_of_group(input, options().groups), options().filters);
  }

  Value linear(const Value& x, const Value& kernel) override {
    expect_built_for(x.shape(), kernel.shape()[3] * options().groups);
    ops::Conv3 how{.strides = strides(), .dilation = dilation(), .groups = options().groups};
    if (options().padding == "same")
      how.padding = ops::same_padding3d(x.shape(), size(), strides(), dilation());
    ops::Planes made = ops::conv3d_planes(x, kernel, how);
    depth_ = made.depth;
    return made.y;
  }

  Value unfolded(const Value& y) const override { return ops::as_volume(y, depth_); }

 private:
  int64_t depth_ = 0;  // of the result that linear() made last
};

template <class Options, class Size>
class TransposeLayer : public SpatialConvolution<TransposeConfig<Options, Size>> {
  using Base = SpatialConvolution<TransposeConfig<Options, Size>>;
  static constexpr size_t kAxes = kSpatialRank<Size>;

 public:
  explicit TransposeLayer(TransposeConfig<Options, Size> config) : Base(std::move(config)) {
    for (size_t axis = 0; axis < kAxes; ++axis)
      if (more(axis) && *more(axis) >= this->strides()[axis])
        this->fail_option(fmt::format("output_padding is {}, expected less than strides, {}",
                                      *more(axis), this->strides()[axis]));
  }

 protected:
  void build_for(const Shape& input) override {
    this->expect_rank(input);
    this->add_kernel(this->options().filters, input[-1]);
  }

  Value linear(const Value& x, const Value& kernel) override {
    this->expect_built_for(x.shape(), kernel.shape()[-1]);
    std::array<TransposedEdge, kAxes> edges;
    for (size_t axis = 0; axis < kAxes; ++axis)
      edges[axis] =
          transposed_edge(this->size()[axis], this->strides()[axis], this->dilation()[axis],
                          this->options().padding == "same", more(axis));
    if constexpr (kAxes == 2)
      return ops::conv2d_transpose(
          x, kernel,
          {.strides = this->strides(),
           .padding = {edges[0].before, edges[0].after, edges[1].before, edges[1].after},
           .output_padding = {edges[0].more, edges[1].more},
           .dilation = this->dilation()});
    else
      return ops::conv3d_transpose(x, kernel,
                                   {.strides = this->strides(),
                                    .padding = {{{edges[0].before, edges[0].after},
                                                 {edges[1].before, edges[1].after},
                                                 {edges[2].before, edges[2].after}}},
                                    .output_padding = {edges[0].more, edges[1].more, edges[2].more},
                                    .dilation = this->dilation()});
  }

 private:
  std::optional<int64_t> more(size_t axis) const {
    const auto& given = this->options().output_padding;
    return given ? std::optional(extents(*given)[axis]) : std::nullopt;
  }
};

using Conv2DTransposeLayer = TransposeLayer<Conv2DTransposeOptions, Size2>;
using Conv3DTransposeLayer = TransposeLayer<Conv3DTransposeOptions, Size3>;

}  // namespace

Conv3D::Conv3D(int64_t filters, Size3 kernel_size, const Conv3DOptions& options)
    : Layer(configured<Conv3DLayer>({options, filters, kernel_size})) {}

Conv2DTranspose::Conv2DTranspose(int64_t filters, Size2 kernel_size,
                                 const Conv2DTransposeOptions& options)
    : Layer(configured<Conv2DTransposeLayer>({options, filters, kernel_size})) {}

Conv3DTranspose::Conv3DTranspose(int64_t filters, Size3 kernel_size,
                                 const Conv3DTransposeOptions& options)
    : Layer(configured<Conv3DTransposeLayer>({options, filters, kernel_size})) {}

void add_volume_layers(LayerKinds& kinds) {
  add_layer<Conv3DLayer>(kinds);
  add_layer<Conv2DTransposeLayer>(kinds);
  add_layer<Conv3DTransposeLayer>(kinds);
}

}  // namespace stoker
