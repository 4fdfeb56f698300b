#include <stoker/bounding_boxes.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/error.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>

namespace stoker::utils::bounding_boxes {

namespace {

constexpr double kEpsilon = 1e-7;  // Keras's
constexpr const char* kRelative = "rel_";
constexpr auto kFormats =
    std::to_array<std::string_view>({"xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw",
                                     "rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh"});

Value joined(const Value& a, const Value& b, const Value& c, const Value& d) {
  return ops::concatenate({a, b, c, d}, -1);
}

Values parts_of(const Value& boxes) {
  if (boxes.shape().rank() < 1 || boxes.shape()[-1] != 4)
    throw ShapeError(
        fmt::format("bounding boxes: expected [.., 4], got {}", to_string(boxes.shape())));
  return ops::split(ops::cast(boxes, DType::float32), 4, -1);
}

void expect_format(const std::string& format) {
  if (std::ranges::find(kFormats, format) == kFormats.end())
    throw ValueError(fmt::format("bounding boxes: unknown format \"{}\"; there are {}", format,
                                 fmt::join(kFormats, ", ")));
}

bool is_relative(const std::string& format) { return format.starts_with(kRelative); }

// Corners in the units of the format: shares where it is relative.
Value to_corners(const Value& boxes, const std::string& format) {
  Values p = parts_of(boxes);
  if (format == "xyxy") return joined(p[0], p[1], p[2], p[3]);
  if (format == "yxyx") return joined(p[1], p[0], p[3], p[2]);
  if (format == "xywh") return joined(p[0], p[1], p[0] + p[2], p[1] + p[3]);
  bool y_first = format == "center_yxhw";
  const Value &x = p[y_first ? 1 : 0], &y = p[y_first ? 0 : 1];
  Value half_width = p[y_first ? 3 : 2] / 2.0, half_height = p[y_first ? 2 : 3] / 2.0;
  return joined(x - half_width, y - half_height, x + half_width, y + half_height);
}

Value from_corners(const Value& corners, const std::string& format) {
  Values p = parts_of(corners);
  Value width = p[2] - p[0], height = p[3] - p[1];
  if (format == "xyxy") return corners;
  if (format == "yxyx") return joined(p[1], p[0], p[3], p[2]);
  if (format == "xywh") return joined(p[0], p[1], width, height);
  Value x = p[0] + width / 2.0, y = p[1] + height / 2.0;
  return format == "center_yxhw" ? joined(y, x, height, width) : joined(x, y, width, height);
}

Value by_size(const Value& corners, const ImageSize& image, bool divide) {
  Tensor size = Tensor::from<float>(
      {float(image.width), float(image.height), float(image.width), float(image.height)}, {4});
  return divide ? corners / Value(size) : corners * Value(size);
}

std::string without_relative(const std::string& format) {
  return is_relative(format) ? format.substr(std::string_view(kRelative).size()) : format;
}

Value areas_of(const Values& p) { return (p[2] - p[0]) * (p[3] - p[1]); }

Value last_transposed(const Value& x) { return ops::swapaxes(x, -1, -2); }

Value is_padding(const Value& boxes) {
  return ops::less(ops::max(boxes, {.axes = {-1}, .keepdims = true}), 0.0);
}

void expect_encoding(const DeltaOptions& options) {
  if (options.encoding_format != "center_xywh" && options.encoding_format != "center_yxhw")
    throw ValueError(fmt::format(
        "bounding boxes: encoding_format is \"{}\", expected \"center_xywh\" or \"center_yxhw\"",
        options.encoding_format));
  if (!options.variance.empty() && options.variance.size() != 4)
    throw ValueError(fmt::format("bounding boxes: variance has {} factors, expected 4",
                                 options.variance.size()));
}

Value variance_of(const DeltaOptions& options) {
  std::vector<float> factors(options.variance.begin(), options.variance.end());
  return Tensor::from(factors, {4});
}

// The first two, or the last two, of four.
Value half_of(const Value& boxes, bool last) { return ops::split(boxes, 2, -1)[last ? 1 : 0]; }

Value exactly_corners(const Value& boxes, double dx, double dy) {
  Values p = parts_of(boxes);
  return joined(p[0] + dx, p[1] + dy, p[2] + dx, p[3] + dy);
}

}  // namespace

Value convert_format(const Value& boxes, const std::string& source, const std::string& target,
                     const std::optional<ImageSize>& image) {
  expect_format(source);
  expect_format(target);
  if (source == target) return ops::cast(boxes, DType::float32);
  bool from = is_relative(source), to = is_relative(target);
  if ((from || to) && !image)
    throw ValueError(
        fmt::format("bounding boxes: {} to {} needs the picture's size; pass {{.height = "
                    "…, .width = …}}",
                    source, target));
  Value corners = to_corners(boxes, without_relative(source));
  if (from != to) corners = by_size(corners, *image, to);
  return from_corners(corners, without_relative(target));
}

Boxes clip_to_image_size(const Boxes& boxes, const std::optional<ImageSize>& image,
                         const std::string& bounding_box_format) {
  if (bounding_box_format != "xyxy" && bounding_box_format != "rel_xyxy")
    throw ValueError(fmt::format(
        "clip_to_image_size: expected the format xyxy or rel_xyxy, got {}; convert_format() first",
        bounding_box_format));
  bool relative = is_relative(bounding_box_format);
  if (!relative && !image) throw ValueError("clip_to_image_size: xyxy needs the picture's size");
  double width = relative ? 1 : image->width, height = relative ? 1 : image->height;
  Values p = parts_of(boxes.boxes);
  for (size_t i = 0; i < 4; ++i) p[i] = ops::clip(p[i], 0.0, i % 2 == 0 ? width : height);
  Boxes clipped{.boxes = joined(p[0], p[1], p[2], p[3]), .labels = boxes.labels};
  if (boxes.labels.defined())
    clipped.labels =
        ops::where(ops::greater(ops::squeeze(areas_of(p), -1), 0.0), boxes.labels, -1.0);
  return clipped;
}

Value compute_iou(const Value& boxes1, const Value& boxes2, const std::string& bounding_box_format,
                  const IouOptions& options) {
  for (const Value* each : {&boxes1, &boxes2})
    if (each->shape().rank() != 2 && each->shape().rank() != 3)
      throw ShapeError(fmt::format("compute_iou: expected [N, 4] or [B, N, 4], got {}",
                                   to_string(each->shape())));
  Value one = convert_format(boxes1, bounding_box_format, "xyxy", options.image),
        other = convert_format(boxes2, bounding_box_format, "xyxy", options.image);
  Values a = parts_of(one), b = parts_of(other);  // [.., N, 1]
  Value areas = areas_of(a), other_areas = last_transposed(areas_of(b));
  for (Value& each : b) each = last_transposed(each);  // [.., 1, M]
  Value width = ops::maximum(ops::minimum(a[2], b[2]) - ops::maximum(a[0], b[0]), 0.0),
        height = ops::maximum(ops::minimum(a[3], b[3]) - ops::maximum(a[1], b[1]), 0.0);
  Value both = width * height;
  Value iou = both / (areas + other_areas - both + kEpsilon);
  if (!options.use_masking) return iou;
  Value padding = ops::logical_or(is_padding(one), last_transposed(is_padding(other)));
  return ops::where(padding, options.mask_val, iou);
}

Value compute_ciou(const Value& boxes1, const Value& boxes2,
                   const std::string& bounding_box_format) {
  if (is_relative(bounding_box_format))
    throw ValueError("compute_ciou: expected boxes in pixels; convert_format() first");
  Values a = parts_of(convert_format(boxes1, bounding_box_format, "xyxy")),
         b = parts_of(convert_format(boxes2, bounding_box_format, "xyxy"));
  Value width1 = a[2] - a[0], height1 = a[3] - a[1] + kEpsilon, width2 = b[2] - b[0],
        height2 = b[3] - b[1] + kEpsilon;
  Value both = ops::maximum(ops::minimum(a[2], b[2]) - ops::maximum(a[0], b[0]), 0.0) *
               ops::maximum(ops::minimum(a[3], b[3]) - ops::maximum(a[1], b[1]), 0.0);
  Value iou = both / (width1 * height1 + width2 * height2 - both + 2 * kEpsilon);
  Value wide = ops::maximum(a[2], b[2]) - ops::minimum(a[0], b[0]),
        high = ops::maximum(a[3], b[3]) - ops::minimum(a[1], b[1]);
  Value diagonal = ops::square(wide) + ops::square(high) + kEpsilon;
  Value distance = ops::square((a[0] + a[2]) / 2.0 - (b[0] + b[2]) / 2.0) +
                   ops::square((a[1] + a[3]) / 2.0 - (b[1] + b[3]) / 2.0);
  constexpr double kPi = std::numbers::pi;
  Value v = (4 / (kPi * kPi)) *
            ops::square(ops::arctan(width2 / height2) - ops::arctan(width1 / height1));
  Value alpha = v / (v - iou + (1 + kEpsilon));
  return ops::squeeze(iou - (distance / diagonal + v * alpha), -1);
}

Value encode_box_to_deltas(const Value& anchors, const Value& boxes,
                           const std::string& anchor_format, const std::string& box_format,
                           const DeltaOptions& options) {
  expect_encoding(options);
  Value from = convert_format(anchors, anchor_format, options.encoding_format, options.image),
        to = convert_format(boxes, box_format, options.encoding_format, options.image);
  Value size = ops::maximum(half_of(from, true), kEpsilon);
  Value deltas = ops::concatenate({(half_of(to, false) - half_of(from, false)) / size,
                                   ops::log(ops::maximum(half_of(to, true), kEpsilon) / size)},
                                  -1);
  return options.variance.empty() ? deltas : deltas / variance_of(options);
}

Value decode_deltas_to_boxes(const Value& anchors, const Value& deltas,
                             const std::string& anchor_format, const std::string& box_format,
                             const DeltaOptions& options) {
  expect_encoding(options);
  Value from = convert_format(anchors, anchor_format, options.encoding_format, options.image);
  Value scaled = options.variance.empty() ? deltas : deltas * variance_of(options);
  Value size = half_of(from, true);
  Value boxes = ops::concatenate({half_of(scaled, false) * size + half_of(from, false),
                                  ops::exp(half_of(scaled, true)) * size},
                                 -1);
  return convert_format(boxes, options.encoding_format, box_format, options.image);
}

Value crop(const Value& boxes, double top, double left, double height, double width) {
  Values p = parts_of(exactly_corners(boxes, -left, -top));
  return joined(ops::clip(p[0], 0.0, width), ops::clip(p[1], 0.0, height),
                ops::clip(p[2], 0.0, width), ops::clip(p[3], 0.0, height));
}

Value pad(const Value& boxes, double top, double left) { return exactly_corners(boxes, left, top); }

}  // namespace stoker::utils::bounding_boxes
