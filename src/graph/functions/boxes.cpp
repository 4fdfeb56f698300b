#include <stoker/ops_boxes.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

namespace stoker::ops::boxes {

namespace {

// Below every score: what is taken or left out.
constexpr double kGone = std::numeric_limits<float>::lowest();

void check_boxes(const char* what, const Value& boxes) {
  const Shape& shape = boxes.shape();
  if (shape.rank() == 0 || shape[-1] != 4)
    throw ShapeError(
        fmt::format("{}: expected boxes [.., 4] of two corners, got {}", what, to_string(shape)));
}

void check_list(const char* what, const Value& boxes) {
  check_boxes(what, boxes);
  if (boxes.shape().rank() < 2)
    throw ShapeError(fmt::format("{}: expected a list of boxes, [.., N, 4], got {}", what,
                                 to_string(boxes.shape())));
}

void check_suppression(const Value& boxes, const Value& scores, const NonMaxSuppression& options) {
  const char* what = "non_max_suppression";
  check_list(what, boxes);
  const Shape &of_boxes = boxes.shape(), &of_scores = scores.shape();
  if (of_scores.rank() + 1 != of_boxes.rank() ||
      !std::ranges::equal(of_scores, of_boxes.dims().first(size_t(of_scores.rank()))))
    throw ShapeError(
        fmt::format("{}: boxes {} need scores {}, got {}", what, to_string(of_boxes),
                    to_string(Shape(of_boxes.dims().first(size_t(of_boxes.rank()) - 1))),
                    to_string(of_scores)));
  if (!of_boxes.is_known())
    throw ShapeError(
        fmt::format("{}: it runs inside Layer::call, function() and compute(), where shapes are "
                    "known, got {}; in a model, put it into a layer of your own",
                    what, to_string(of_boxes)));
  if (options.max_output_size < 1)
    throw ValueError(fmt::format("{}: max_output_size is {}, expected at least 1", what,
                                 options.max_output_size));
}

Value side(const Value& boxes, int low, int high) {
  return maximum(take(boxes, high, -1) - take(boxes, low, -1), 0.0);
}

// The overlap along one axis of every pair: [.., N, M].
Value overlap(const Value& a, const Value& b, int low, int high) {
  auto rows = [&](int corner) { return expand_dims(take(a, corner, -1), -1); };
  auto columns = [&](int corner) { return expand_dims(take(b, corner, -1), -2); };
  return maximum(minimum(rows(high), columns(high)) - maximum(rows(low), columns(low)), 0.0);
}

}  // namespace

Value area(const Value& boxes) {
  check_boxes("boxes::area", boxes);
  return side(boxes, 0, 2) * side(boxes, 1, 3);
}

Value iou(const Value& a, const Value& b) {
  check_list("boxes::iou", a);
  check_list("boxes::iou", b);
  Value both = overlap(a, b, 0, 2) * overlap(a, b, 1, 3);
  Value either = expand_dims(area(a), -1) + expand_dims(area(b), -2) - both;
  return where(either > 0.0, both / where(either > 0.0, either, 1.0), 0.0);
}

Kept non_max_suppression(const Value& boxes, const Value& scores,
                         const NonMaxSuppression& options) {
  check_suppression(boxes, scores, options);
  Shape batch(scores.shape().dims().first(size_t(scores.shape().rank()) - 1));
  int64_t rows = batch.elements(), count = scores.shape()[-1];
  Value all = stop_gradient(reshape(cast(boxes, DType::float32), {rows, count, 4}));
  Value given = stop_gradient(reshape(cast(scores, DType::float32), {rows, count}));
  double least = std::max(options.score_threshold.value_or(kGone), kGone);
  Value left = where(given > least, given, kGone);  // not of NaN either
  ScanFunction take_best = [&](const Values& carry, const Values&) {
    Value best = expand_dims(cast(argmax(carry[0]), DType::int32), 1);  // [rows, 1]
    Value found = take_along_axis(carry[0], best, 1) > kGone;
    Value box = take_along_axis(all, expand_dims(best, -1), 1);  // [rows, 1, 4]
    Value gone = logical_or(squeeze(iou(box, all), 1) > options.iou_threshold,
                            one_hot(squeeze(best, 1), count) > 0.0);
    Value index = where(squeeze(found, 1), squeeze(best, 1), -1);
    return ScanStep{{where(gone, kGone, carry[0])}, {cast(index, DType::int32)}};
  };
  Value indices = transpose(
      scan(take_best, {left}, {}, {.length = options.max_output_size}).outputs[0], {1, 0});
  std::vector<int64_t> shape(batch.begin(), batch.end());
  Value counts = sum(cast(indices >= 0, DType::int32), {.axes = {1}});
  Shape of_count(shape);
  shape.push_back(options.max_output_size);
  return {reshape(indices, Shape(shape)), reshape(counts, of_count)};
}

}  // namespace stoker::ops::boxes
