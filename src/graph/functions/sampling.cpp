// Elements between elements: images and tensors read at coordinates that are computed.
#include <cmath>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_image.h>
#include <stoker/ops_linalg.h>
#include <stoker/ops_math.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/functions/pictures.h"
#include "graph/functions/sampling.h"
#include "graph/op.h"

namespace stoker::ops::image {

namespace {

// An index along an axis of n elements, and whether there is an element.
struct Place {
  Value index;   // float, whole
  Value inside;  // bool; undefined: always
};

void expect_mode(const char* what, const std::string& mode, bool mirrors) {
  if (mode == "constant" || mode == "nearest" || mode == "reflect" || mode == "wrap" ||
      (mirrors && mode == "mirror"))
    return;
  throw ValueError(
      fmt::format("{}: fill_mode must be constant, nearest, reflect{} or wrap, got \"{}\"", what,
                  mirrors ? ", mirror" : "", mode));
}

// reflect: d c b a | a b c d | d c b a; mirror: d c b | a b c d | c b a
Place placed(const Value& at, int64_t n, const std::string& mode) {
  auto last = double(n - 1);
  auto within = [&](const Value& v) { return clip(v, 0, last); };
  if (mode == "constant")
    return {within(at), logical_and(greater_equal(at, 0.0), less_equal(at, last))};
  if (mode == "nearest") return {within(at), {}};
  if (mode == "wrap") return {within(mod(at, double(n))), {}};
  if (mode == "reflect") {
    Value turn = mod(at, 2.0 * double(n));
    return {within(where(less(turn, double(n)), turn, 2.0 * double(n) - 1.0 - turn)), {}};
  }
  if (n == 1) return {at * 0.0, {}};
  Value turn = mod(at, 2 * last);
  return {where(less_equal(turn, last), turn, 2 * last - turn), {}};
}

// A neighbour along one axis, with its weight.
struct Neighbour {
  Value index, weight;  // weight: undefined is 1
};

std::vector<Neighbour> neighbours(const Value& at, bool linear) {
  if (!linear) return {{round(at), {}}};
  Value low = floor(at), part = at - low;
  return {{low, 1.0 - part}, {low + 1.0, part}};
}

}  // namespace

// Sums over the corners of the cell around each place; an image's pixels are rows of a table.
Value sampled(const Value& x, const Value& rows, const Value& columns, const Sampling& how) {
  int64_t batch = x.shape()[0], height = x.shape()[1], width = x.shape()[2];
  Value flat = emit::reshape(x, {batch, height * width, x.shape()[3]}), sum;
  bool linear = how.interpolation == "bilinear";
  for (const Neighbour& v : neighbours(rows, linear))
    for (const Neighbour& h : neighbours(columns, linear)) {
      Place up = placed(v.index, height, how.fill_mode),
            side = placed(h.index, width, how.fill_mode);
      Value place =
          emit::cast(up.index, DType::int32) * width + emit::cast(side.index, DType::int32);
      place = emit::broadcast_to(place, {batch, height * width});
      Value pixels = apply1("take", {flat, place}, {{"axis", int64_t(1)}});
      if (up.inside.defined())
        pixels =
            where(expand_dims(logical_and(up.inside, side.inside), -1), pixels, how.fill_value);
      if (linear) pixels = pixels * expand_dims(v.weight * h.weight, -1);
      sum = sum.defined() ? sum + pixels : pixels;
    }
  return emit::reshape(sum, x.shape());
}

void expect_sampling(const char* what, const Sampling& how) {
  expect_mode(what, how.fill_mode, false);
  if (how.interpolation != "bilinear" && how.interpolation != "nearest")
    throw ValueError(fmt::format("{}: interpolation must be nearest or bilinear, got \"{}\"", what,
                                 how.interpolation));
}

Value affine_transform(const Value& images, const Value& transform, const Sampling& options) {
  expect_sampling("affine_transform", options);
  return on_pictures("affine_transform", images, [&](const Value& pictures) {
    return in_floats(pictures, [&](const Value& x) {
      int64_t height = x.shape()[1], width = x.shape()[2];
      Value given = transform.shape().rank() == 1 ? expand_dims(transform, 0) : transform;
      if (given.shape().rank() != 2 || given.shape()[1] != 8)
        throw ShapeError(fmt::format("affine_transform: expected [8] or [B, 8], got {}",
                                     to_string(transform.shape())));
      Values t = split(emit::cast(given, DType::float32), 8, 1);  // [B, 1] or [1, 1] each
      Values grid = meshgrid({arange(Step(0), Step(width), Step(1), DType::float32),
                              arange(Step(0), Step(height), Step(1), DType::float32)});
      Value right = reshape(grid[0], {1, -1}), down = reshape(grid[1], {1, -1});
      Value scale = t[6] * right + t[7] * down + 1.0;
      Value column = (t[0] * right + t[1] * down + t[2]) / scale,
            row = (t[3] * right + t[4] * down + t[5]) / scale;
      if (options.interpolation == "bilinear" && options.fill_mode != "constant") {
        column = placed(column, width, options.fill_mode).index;
        row = placed(row, height, options.fill_mode).index;
      }
      return sampled(x, row, column, options);
    });
  });
}

// The eight numbers of the projection that takes end_points to start_points: two equations per corner.
Value perspective_transform(const Value& images, const Value& start_points, const Value& end_points,
                            const Perspective& options) {
  auto corners = [](const Value& points) {
    const Shape& shape = points.shape();
    if (shape.rank() < 2 || shape.rank() > 3 || shape[-2] != 4 || shape[-1] != 2)
      throw ShapeError(fmt::format(
          "perspective_transform: expected points [4, 2] or [B, 4, 2], got {}", to_string(shape)));
    return emit::cast(shape.rank() == 2 ? expand_dims(points, 0) : points, DType::float32);
  };
  Value start = corners(start_points), end = corners(end_points);
  Values from = unstack(start, 2), to = unstack(end, 2);  // x, y: [B, 4]
  Value one = ones_like(to[0]), none = zeros_like(to[0]);
  Value across =
      stack({to[0], to[1], one, none, none, none, -from[0] * to[0], -from[0] * to[1]}, 2);
  Value down = stack({none, none, none, to[0], to[1], one, -from[1] * to[0], -from[1] * to[1]}, 2);
  Value numbers = linalg::solve(concatenate({across, down}, 1),
                                expand_dims(concatenate({from[0], from[1]}, 1), 2));
  return affine_transform(
      images, squeeze(numbers, 2),
      {.interpolation = options.interpolation, .fill_value = options.fill_value});
}

Value map_coordinates(const Value& x, const Value& coordinates, const MapCoordinates& options) {
  expect_mode("map_coordinates", options.fill_mode, true);
  int rank = x.shape().rank();
  if (options.order != 0 && options.order != 1)
    throw ValueError(fmt::format("map_coordinates: order is 0 or 1, got {}", options.order));
  if (rank == 0 || coordinates.shape().rank() < 1 || coordinates.shape()[0] != rank)
    throw ShapeError(fmt::format("map_coordinates: expected coordinates [{}, ..] of {}, got {}",
                                 rank, to_string(x.shape()), to_string(coordinates.shape())));
  return in_floats(x, [&](const Value& wide) {
    Values at = unstack(emit::cast(coordinates, DType::float32), 0);
    Value flat = ravel(wide), sum;
    int corners = options.order == 0 ? 1 : 1 << rank;
    for (int corner = 0; corner < corners; ++corner) {
      Value place, weight, inside;
      for (int axis = 0; axis < rank; ++axis) {
        Neighbour next =
            neighbours(at[size_t(axis)], options.order == 1)[size_t(corner >> axis & 1)];
        Place found = placed(next.index, x.shape()[axis], options.fill_mode);
        Value index = emit::cast(found.index, DType::int32);
        place = place.defined() ? place * x.shape()[axis] + index : index;
        if (next.weight.defined()) weight = weight.defined() ? weight * next.weight : next.weight;
        if (found.inside.defined())
          inside = inside.defined() ? logical_and(inside, found.inside) : found.inside;
      }
      Value element = gather(flat, place);
      if (inside.defined()) element = where(inside, element, options.fill_value);
      if (weight.defined()) element = element * weight;
      sum = sum.defined() ? sum + element : element;
    }
    return sum;
  });
}

}  // namespace stoker::ops::image
