// Resizing: every axis by a matrix of weights, or by indices.
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_image.h>
#include <stoker/ops_math.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/functions/pictures.h"
#include "graph/graph.h"

namespace stoker::ops::image {

namespace {

double lanczos(double x, double radius) {
  double size = std::abs(x);
  if (size >= radius) return 0;
  if (size < 1e-3) return 1;
  double turn = std::numbers::pi * x;
  return radius * std::sin(turn) * std::sin(turn / radius) / (turn * turn);
}

// Keys' cubic with a = -1/2.
double cubic(double x) {
  double t = std::abs(x);
  if (t >= 2) return 0;
  return t < 1 ? (1.5 * t - 2.5) * t * t + 1 : ((-0.5 * t + 2.5) * t - 4) * t + 2;
}

std::function<double(double)> kernel_of(const std::string& name) {
  if (name == "bilinear") return [](double x) { return std::fmax(0, 1 - std::abs(x)); };
  if (name == "bicubic") return cubic;
  if (name == "lanczos3") return [](double x) { return lanczos(x, 3); };
  if (name == "lanczos5") return [](double x) { return lanczos(x, 5); };
  throw ValueError(fmt::format(
      "resize: interpolation is nearest, bilinear, bicubic, lanczos3 or lanczos5, got \"{}\"",
      name));
}

// Along one axis: how far apart the pixels of the result lie, and where its edge lies, in pixels.
struct Spacing {
  double apart = 1, begin = 0;
};

// [from, to]: what each pixel of the result takes of each pixel; outside there are none.
Tensor weights(int64_t from, int64_t to, const Spacing& spacing, const std::string& interpolation,
               bool antialias) {
  auto kernel = kernel_of(interpolation);
  double wide = antialias ? std::fmax(1, spacing.apart) : 1;
  Tensor table(DType::float32, {from, to});
  std::vector<double> column(static_cast<size_t>(from));
  for (int64_t out = 0; out < to; ++out) {
    double centre = (double(out) + 0.5) * spacing.apart + spacing.begin - 0.5, sum = 0;
    bool inside = centre >= -0.5 && centre <= double(from) - 0.5;
    for (int64_t in = 0; in < from; ++in)
      sum += column[size_t(in)] = kernel((double(in) - centre) / wide);
    for (int64_t in = 0; in < from; ++in)
      table.data_mut<float>()[in * to + out] = inside ? float(column[size_t(in)] / sum) : 0;
  }
  return table;
}

// Rows and columns by matrices [H, H'] and [W, W'], in float32 whatever the policy's products are in.
Value by_weights(const Value& x, const std::optional<Tensor>& rows,
                 const std::optional<Tensor>& columns) {
  std::optional<Graph::ComputeDtype> exact;
  if (x.traced()) exact.emplace(*x.traced()->graph, DType::float32);
  Value y = x;
  if (rows) y = from_last(emit::matmul(to_last(y, 1), *rows, false, false), 1);
  if (columns) y = from_last(emit::matmul(to_last(y, 2), *columns, false, false), 2);
  return y;
}

Value nearest(const Value& x, int64_t axis, int64_t to) {
  int64_t from = x.shape()[int(axis)];
  std::vector<int32_t> places;
  for (int64_t out = 0; out < to; ++out)
    places.push_back(int32_t(
        std::fmin(double(from - 1), std::floor((double(out) + 0.5) * double(from) / double(to)))));
  return take(x, Tensor::from(places, {to}), int(axis));
}

// Aspect ratios: a part of the image, or more than it.
Value with_aspect(const Value& x, std::array<int64_t, 2> size, const Resize& options) {
  int64_t height = x.shape()[1], width = x.shape()[2];
  auto by_width = int64_t(float(width * size[0]) / float(size[1]));
  auto by_height = int64_t(float(height * size[1]) / float(size[0]));
  if (options.crop_to_aspect_ratio) {
    int64_t rows = std::max<int64_t>(std::min(height, by_width), 1),
            columns = std::max<int64_t>(std::min(width, by_height), 1);
    return emit::slice(x, {0, (height - rows) / 2, (width - columns) / 2, 0},
                       {-1, rows, columns, -1});
  }
  int64_t rows = (std::max(height, by_width) - height) / 2,
          columns = (std::max(width, by_height) - width) / 2;
  return pad(x, {0, rows, columns, 0}, {0, rows, columns, 0}, options.fill_value);
}

}  // namespace

Value resize(const Value& images, std::array<int64_t, 2> size, const Resize& options) {
  if (size[0] < 1 || size[1] < 1)
    throw ValueError(
        fmt::format("resize: expected a size of 1 x 1 or more, got {} x {}", size[0], size[1]));
  if (options.crop_to_aspect_ratio && options.pad_to_aspect_ratio)
    throw ValueError(
        "resize: only one of crop_to_aspect_ratio and pad_to_aspect_ratio can be true");
  return on_pictures("resize", images, [&](Value x) {
    if (options.crop_to_aspect_ratio || options.pad_to_aspect_ratio)
      x = with_aspect(x, size, options);
    int64_t height = x.shape()[1], width = x.shape()[2];
    if (options.interpolation == "nearest") return nearest(nearest(x, 1, size[0]), 2, size[1]);
    kernel_of(options.interpolation);
    return in_floats(x, [&](const Value& wide) {
      auto along = [&](int64_t from, int64_t to) -> std::optional<Tensor> {
        if (from == to) return std::nullopt;
        return weights(from, to, {.apart = double(from) / double(to)}, options.interpolation,
                       options.antialias);
      };
      return by_weights(wide, along(height, size[0]), along(width, size[1]));
    });
  });
}

Value scale_and_translate(const Value& images, std::array<int64_t, 2> size,
                          const ScaleAndTranslate& options) {
  if (size[0] < 1 || size[1] < 1 || !(options.scale[0] > 0) || !(options.scale[1] > 0))
    throw ValueError(fmt::format(
        "scale_and_translate: expected a size of 1 x 1 or more and scales above 0, got {} x {}, {} "
        "and {}",
        size[0], size[1], options.scale[0], options.scale[1]));
  std::string method = options.method == "linear"  ? "bilinear"
                       : options.method == "cubic" ? "bicubic"
                                                   : options.method;
  return on_pictures("scale_and_translate", images, [&](const Value& pictures) {
    return in_floats(pictures, [&](const Value& x) {
      auto along = [&](size_t axis) {
        double apart = 1 / options.scale[axis];
        return weights(x.shape()[int(axis) + 1], size[axis],
                       {.apart = apart, .begin = -options.translation[axis] * apart}, method,
                       options.antialias);
      };
      return by_weights(x, along(0), along(1));
    });
  });
}

}  // namespace stoker::ops::image
