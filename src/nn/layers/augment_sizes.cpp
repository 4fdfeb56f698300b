// Resizing, CenterCrop, RandomCrop.
#include <algorithm>

#include <fmt/format.h>

#include "nn/layers/augment_layer.h"
#include "nn/layers/resampled.h"

namespace stoker {

namespace {

// A part of a picture, or a frame around it where it begins before 0.
struct Region {
  int64_t y, x, height, width;
};

// The largest part in the middle whose sides have the ratio of the target.
Region part_of_ratio(const Shape& input, int64_t height, int64_t width) {
  int64_t rows = std::clamp(input[2] * height / width, int64_t(1), input[1]);
  int64_t columns = std::clamp(input[1] * width / height, int64_t(1), input[2]);
  return {(input[1] - rows) / 2, (input[2] - columns) / 2, rows, columns};
}

Value part(const Value& x, const Region& of) {
  return ops::slice(x, {0, of.y, of.x, 0}, {-1, of.height, of.width, -1});
}

// The smallest frame of that ratio.
Value framed(const Value& x, int64_t height, int64_t width, double fill) {
  int64_t rows = std::max(x.shape()[1], x.shape()[2] * height / width);
  int64_t columns = std::max(x.shape()[2], x.shape()[1] * width / height);
  int64_t top = (rows - x.shape()[1]) / 2, left = (columns - x.shape()[2]) / 2;
  return ops::pad(x, {0, top, left, 0},
                  {0, rows - x.shape()[1] - top, columns - x.shape()[2] - left, 0}, fill);
}

// To the nearest whole number, halves to the even one, as far as uint8 goes.
Value rounded_to(const Value& x, DType dtype) {
  Value up = ops::floor(x + 0.5);
  Value half = ops::equal(up - x, 0.5), odd = ops::not_equal(ops::floor(up * 0.5) * 2.0, up);
  Value even = ops::where(half, ops::where(odd, up - 1.0, up), up);
  return ops::cast(dtype == DType::uint8 ? ops::clip(even, 0, 255) : even, dtype);
}

template <class Config>
Fields<Config> size_fields() {
  return {{"height", &Config::height, {.check = at_least(1), .required = true}},
          {"width", &Config::width, {.check = at_least(1), .required = true}}};
}

struct ResizingConfig : ResizingOptions {
  int64_t height = 0, width = 0;
  static constexpr const char* kKind = "Resizing";
  static Fields<ResizingConfig> fields() {
    using C = ResizingConfig;
    return size_fields<C>().then(
        {{"interpolation", &C::interpolation,
          one_of({"bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"})},
         {"crop_to_aspect_ratio", &C::crop_to_aspect_ratio},
         {"pad_to_aspect_ratio", &C::pad_to_aspect_ratio},
         {"fill_mode", &C::fill_mode, one_of({"constant"})},
         {"fill_value", &C::fill_value},
         {"antialias", &C::antialias}});
  }
};

class ResizingLayer : public Configured<SingleInputLayer, ResizingConfig> {
 public:
  explicit ResizingLayer(ResizingConfig config) : Configured(std::move(config)) {
    if (options().crop_to_aspect_ratio && options().pad_to_aspect_ratio)
      fail_option("crop_to_aspect_ratio and pad_to_aspect_ratio do not go together");
  }

 protected:
  Value forward(const Value& x, CallContext&) override {
    expect_image(x.shape());
    int64_t height = options().height, width = options().width;
    Value from = is_floating(x.dtype()) ? x : as_float32(x);
    if (options().crop_to_aspect_ratio) from = part(from, part_of_ratio(x.shape(), height, width));
    if (options().pad_to_aspect_ratio) from = framed(from, height, width, options().fill_value);
    Value y = resampled(from, {height, width}, {options().interpolation, options().antialias});
    return is_floating(x.dtype()) ? y : rounded_to(y, x.dtype());
  }
};

// A place of the picture; one that is smaller than the place is resized, its ratio kept.
template <class Config>
class CropLayer : public Configured<SingleInputLayer, Config> {
 public:
  using Configured<SingleInputLayer, Config>::Configured;

 protected:
  Value forward(const Value& x, CallContext& context) override {
    this->expect_image(x.shape());
    const Shape& shape = x.shape();
    int64_t height = this->options().height, width = this->options().width;
    Value pictures = as_float32(x);
    if (shape[1] < height || shape[2] < width)
      return resampled(part(pictures, part_of_ratio(shape, height, width)), {height, width}, {});
    if (shape[1] == height && shape[2] == width) return pictures;
    if (Config::kRandom && context.training())
      return augmented(pictures, {augment::crop_stage()}, {height, width}, context);
    return part(pictures, {(shape[1] - height) / 2, (shape[2] - width) / 2, height, width});
  }
};

template <bool random>
struct CropConfig : LayerOptions {
  int64_t height = 0, width = 0;
  static constexpr bool kRandom = random;
  static constexpr const char* kKind = random ? "RandomCrop" : "CenterCrop";
  static Fields<CropConfig> fields() { return size_fields<CropConfig>(); }
};

using CenterCropLayer = CropLayer<CropConfig<false>>;
using RandomCropLayer = CropLayer<CropConfig<true>>;

}  // namespace

Resizing::Resizing(int64_t height, int64_t width, const ResizingOptions& options)
    : Layer(configured<ResizingLayer>({options, height, width})) {}
CenterCrop::CenterCrop(int64_t height, int64_t width, const LayerOptions& options)
    : Layer(configured<CenterCropLayer>({options, height, width})) {}
RandomCrop::RandomCrop(int64_t height, int64_t width, const LayerOptions& options)
    : Layer(configured<RandomCropLayer>({options, height, width})) {}

void add_size_augmentations(LayerKinds& kinds) {
  add_layer<ResizingLayer>(kinds);
  add_layer<CenterCropLayer>(kinds);
  add_layer<RandomCropLayer>(kinds);
}

}  // namespace stoker
