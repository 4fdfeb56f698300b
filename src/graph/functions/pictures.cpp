#include "graph/functions/pictures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_image.h>
#include <stoker/ops_math.h>
#include <stoker/ops_nn.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"

namespace stoker::ops::image {

Value on_pictures(const char* what, const Value& images, const OfPictures& f) {
  int rank = images.shape().rank();
  if (rank != 3 && rank != 4)
    throw ShapeError(fmt::format("{}: expected [B, H, W, C] or [H, W, C], got {}", what,
                                 to_string(images.shape())));
  return rank == 4 ? f(images) : squeeze(f(expand_dims(images, 0)), 0);
}

Value in_floats(const Value& x, const OfPictures& f) {
  if (is_floating(x.dtype())) return emit::cast(f(emit::cast(x, DType::float32)), x.dtype());
  return saturate_cast(round(f(emit::cast(x, DType::float32))), x.dtype());
}

// --- parts ---

Value crop_images(const Value& images, const Edges& cropping) {
  return on_pictures("crop_images", images, [&](const Value& x) {
    int64_t rows = x.shape()[1] - cropping.top - cropping.bottom,
            columns = x.shape()[2] - cropping.left - cropping.right;
    if (rows < 1 || columns < 1 || cropping.top < 0 || cropping.left < 0 || cropping.bottom < 0 ||
        cropping.right < 0)
      throw ShapeError(fmt::format("crop_images: nothing is left of {}", to_string(x.shape())));
    return emit::slice(x, {0, cropping.top, cropping.left, 0}, {-1, rows, columns, -1});
  });
}

Value pad_images(const Value& images, const Edges& padding) {
  return on_pictures("pad_images", images, [&](const Value& x) {
    return pad(x, {0, padding.top, padding.left, 0}, {0, padding.bottom, padding.right, 0});
  });
}

Value extract_patches(const Value& images, std::array<int64_t, 2> size, const Patches& options) {
  return on_pictures("extract_patches", images, [&](Value x) {
    std::array<int64_t, 2> stride = {options.strides[0] == 0 ? size[0] : options.strides[0],
                                     options.strides[1] == 0 ? size[1] : options.strides[1]};
    int64_t dilation = options.dilation_rate;
    if (options.padding == "same") {
      Padding p = same_padding(x.shape(), size, stride, {dilation, dilation});
      x = pad(x, {0, p.top, p.left, 0}, {0, p.bottom, p.right, 0});
    } else if (options.padding != "valid") {
      throw ValueError(fmt::format("extract_patches: padding must be valid or same, got \"{}\"",
                                   options.padding));
    }
    int64_t height = x.shape()[1], width = x.shape()[2], channels = x.shape()[3];
    int64_t rows = (height - dilation * (size[0] - 1) - 1) / stride[0] + 1,
            columns = (width - dilation * (size[1] - 1) - 1) / stride[1] + 1;
    if (size[0] < 1 || size[1] < 1 || height < dilation * (size[0] - 1) + 1 ||
        width < dilation * (size[1] - 1) + 1)
      throw ShapeError(fmt::format("extract_patches: {} x {} pixels do not fit {}", size[0],
                                   size[1], to_string(x.shape())));
    std::vector<int32_t> places;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        for (int64_t y = 0; y < size[0]; ++y)
          for (int64_t at = 0; at < size[1]; ++at)
            places.push_back(int32_t((row * stride[0] + y * dilation) * width + column * stride[1] +
                                     at * dilation));
    Value flat = emit::reshape(x, {x.shape()[0], height * width, channels});
    Value taken = take(flat, Tensor::from(places, {int64_t(places.size())}), 1);
    return emit::reshape(taken, {x.shape()[0], rows, columns, size[0] * size[1] * channels});
  });
}

// Patches of the planes, then those of the same place in `size[0]` planes beside each other.
Value extract_patches_3d(const Value& volumes, std::array<int64_t, 3> size,
                         const Patches3d& options) {
  const Shape& shape = volumes.shape();
  if (shape.rank() == 4)
    return squeeze(extract_patches_3d(expand_dims(volumes, 0), size, options), 0);
  if (shape.rank() != 5)
    throw ShapeError(
        fmt::format("extract_patches_3d: expected [B, D, H, W, C], got {}", to_string(shape)));
  int64_t dilation = options.dilation_rate, covered = dilation * (size[0] - 1) + 1,
          stride = options.strides[0] == 0 ? size[0] : options.strides[0];
  Value planes =
      extract_patches(emit::reshape(volumes, {shape[0] * shape[1], shape[2], shape[3], shape[4]}),
                      {size[1], size[2]},
                      {.strides = {options.strides[1], options.strides[2]},
                       .dilation_rate = dilation,
                       .padding = options.padding});
  int64_t rows = planes.shape()[1], columns = planes.shape()[2], width = planes.shape()[3];
  Value x = emit::reshape(planes, {shape[0], shape[1], rows * columns * width});
  if (options.padding == "same") {
    int64_t total =
        std::max<int64_t>(((shape[1] + stride - 1) / stride - 1) * stride + covered - shape[1], 0);
    x = pad(x, {0, total / 2, 0}, {0, total - total / 2, 0});
  }
  int64_t depth = (x.shape()[1] - covered) / stride + 1;
  if (size[0] < 1 || x.shape()[1] < covered)
    throw ShapeError(
        fmt::format("extract_patches_3d: {} planes do not fit {}", size[0], to_string(shape)));
  std::vector<int32_t> places;
  for (int64_t at = 0; at < depth; ++at)
    for (int64_t plane = 0; plane < size[0]; ++plane)
      places.push_back(int32_t(at * stride + plane * dilation));
  Value taken = take(x, Tensor::from(places, {int64_t(places.size())}), 1);
  Value apart = emit::reshape(taken, {shape[0], depth, size[0], rows * columns, width});
  return emit::reshape(emit::transpose(apart, {0, 1, 3, 2, 4}),
                       {shape[0], depth, rows, columns, size[0] * width});
}

// --- colours ---

namespace {

void expect_rgb(const char* what, const Value& x) {
  if (x.shape().rank() < 3 || x.shape()[-1] != 3)
    throw ShapeError(fmt::format("{}: expected [.., H, W, 3], got {}", what, to_string(x.shape())));
}

Values channels_of(const Value& x) { return split(x, 3, -1); }

}  // namespace

Value rgb_to_grayscale(const Value& images) {
  expect_rgb("rgb_to_grayscale", images);
  return in_floats(images, [](const Value& x) {
    Values c = channels_of(x);
    return c[0] * 0.2989 + c[1] * 0.587 + c[2] * 0.114;
  });
}

Value rgb_to_hsv(const Value& images) {
  expect_rgb("rgb_to_hsv", images);
  Values c = channels_of(float_of(images));
  Value high = maximum(maximum(c[0], c[1]), c[2]), low = minimum(minimum(c[0], c[1]), c[2]);
  Value spread = high - low, is_grey = equal(spread, 0.0), safe = where(is_grey, 1.0, spread);
  Value of_red = (c[1] - c[2]) / safe, of_green = (c[2] - c[0]) / safe + 2.0,
        of_blue = (c[0] - c[1]) / safe + 4.0;
  Value hue = where(equal(high, c[0]), of_red, where(equal(high, c[1]), of_green, of_blue)) / 6.0;
  hue = where(is_grey, 0.0, where(less(hue, 0.0), hue + 1.0, hue));
  Value saturation = where(greater(high, 0.0), spread / where(greater(high, 0.0), high, 1.0), 0.0);
  return concatenate({hue, saturation, high}, -1);
}

Value hsv_to_rgb(const Value& images) {
  expect_rgb("hsv_to_rgb", images);
  Values c = channels_of(float_of(images));
  Value turn = c[0] * 6.0;
  auto level = [&](const Value& ramp) { return (1.0 - c[1] + c[1] * clip(ramp, 0, 1)) * c[2]; };
  Value red = level(abs(turn - 3.0) - 1.0), green = level(2.0 - abs(turn - 2.0)),
        blue = level(2.0 - abs(turn - 4.0));
  return concatenate({red, green, blue}, -1);
}

// --- filters ---

namespace {

std::vector<double> gauss(int64_t size, double sigma) {
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    double x = (double(i) - double(size - 1) / 2) / sigma;
    weights.push_back(std::exp(-0.5 * x * x));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// One filter [rows, columns] for every channel.
Value filtered(const Value& x, const std::vector<double>& rows, const std::vector<double>& columns,
               const Padding& padding) {
  auto height = int64_t(rows.size()), width = int64_t(columns.size());
  int64_t channels = x.shape()[3];
  Tensor kernel(DType::float32, {height, width, channels, 1});
  auto* out = kernel.data_mut<float>();
  for (double row : rows)
    for (double column : columns)
      for (int64_t channel = 0; channel < channels; ++channel) *out++ = float(row * column);
  return depthwise_conv2d(x, kernel, {.padding = padding});
}

}  // namespace

Value gaussian_blur(const Value& images, const GaussianBlur& options) {
  if (options.kernel_size[0] < 1 || options.kernel_size[1] < 1 || !(options.sigma[0] > 0) ||
      !(options.sigma[1] > 0))
    throw ValueError("gaussian_blur: kernel_size and sigma must be above 0");
  return on_pictures("gaussian_blur", images, [&](const Value& pictures) {
    return in_floats(pictures, [&](const Value& x) {
      return filtered(x, gauss(options.kernel_size[0], options.sigma[0]),
                      gauss(options.kernel_size[1], options.sigma[1]),
                      same_padding(x.shape(), options.kernel_size, {1, 1}));
    });
  });
}

// The image is mirrored at its edges.
Value sobel_edges(const Value& images) {
  if (images.shape().rank() != 4 || images.shape()[1] < 2 || images.shape()[2] < 2)
    throw ShapeError(fmt::format("sobel_edges: expected [B, H, W, C] of 2 x 2 or more, got {}",
                                 to_string(images.shape())));
  Value x = float_of(images);
  for (int axis : {1, 2}) {
    int64_t n = x.shape()[axis];
    std::vector<int32_t> places = {1};
    for (int64_t i = 0; i < n; ++i) places.push_back(int32_t(i));
    places.push_back(int32_t(n - 2));
    x = take(x, Tensor::from(places, {n + 2}), axis);
  }
  return stack({filtered(x, {-1, 0, 1}, {1, 2, 1}, {}), filtered(x, {1, 2, 1}, {-1, 0, 1}, {})},
               -1);
}

// Wang et al., "Image quality assessment", 2004.
Value ssim(const Value& a, const Value& b, const Ssim& options) {
  Value x = float_of(a), y = float_of(b);
  if (x.shape().rank() != 4 || !(x.shape() == y.shape()) || x.shape()[1] < options.filter_size ||
      x.shape()[2] < options.filter_size)
    throw ShapeError(fmt::format(
        "ssim: expected two images [B, H, W, C] of {} x {} or more, got {} and {}",
        options.filter_size, options.filter_size, to_string(a.shape()), to_string(b.shape())));
  std::vector<double> weights = gauss(options.filter_size, options.filter_sigma);
  auto blurred = [&](const Value& v) { return filtered(v, weights, weights, {}); };
  double c1 = std::pow(options.k1 * options.max_val, 2),
         c2 = std::pow(options.k2 * options.max_val, 2);
  Value mean_x = blurred(x), mean_y = blurred(y), both = mean_x * mean_y * 2.0;
  Value squares = square(mean_x) + square(mean_y);
  Value luminance = (both + c1) / (squares + c1);
  Value contrast =
      (blurred(x * y) * 2.0 - both + c2) / (blurred(square(x) + square(y)) - squares + c2);
  return mean(mean(luminance * contrast, {.axes = {1, 2}}), {.axes = {-1}});
}

}  // namespace stoker::ops::image
