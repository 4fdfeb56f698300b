// Axes and elements in another order.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"

namespace stoker::ops {

namespace {

Shape shape_of(const Ints& dims) { return Shape(std::span<const int64_t>(dims)); }

// The elements at constant places of an axis.
Value at_places(const Value& x, const Ints& places, int64_t axis) {
  std::vector<int32_t> brief(places.begin(), places.end());
  return apply1("take", {x, Tensor::from(brief, {int64_t(brief.size())})}, {{"axis", axis}});
}

// A part of one axis.
Value part(const Value& x, int64_t axis, int64_t begin, int64_t size) {
  Ints from(size_t(x.shape().rank()), 0), count(from.size(), -1);
  from[size_t(axis)] = begin;
  count[size_t(axis)] = size;
  return emit::slice(x, from, count);
}

int64_t known_extent(const char* what, const Value& x, int64_t axis) {
  int64_t extent = x.shape()[int(axis)];
  if (extent < 0)
    throw ShapeError(fmt::format(
        "{}: axis {} of {} is the batch of a functional model, whose size is not known yet; call "
        "it inside a Lambda, or the call() of a layer",
        what, axis, to_string(x.shape())));
  return extent;
}

// At least `rank` dimensions: ones in front (or, of a matrix for dstack, behind).
Value at_least(const Value& x, int rank) {
  Ints dims = emit::dims(x.shape());
  if (rank == 3 && dims.size() == 2) dims.push_back(1);
  while (int(dims.size()) < rank) {
    dims.insert(dims.begin(), 1);
    if (rank == 3 && dims.size() == 2) dims.push_back(1);
  }
  return emit::reshape(x, shape_of(dims));
}

Values all_at_least(const Values& values, int rank) {
  Values wide;
  for (const Value& value : values) wide.push_back(at_least(value, rank));
  return wide;
}

}  // namespace

Value stack(const Values& values, int axis) {
  if (values.empty()) throw ShapeError("stack: expected at least one value, got none");
  Values wide;
  for (const Value& value : values) {
    if (!(value.shape() == values[0].shape()))
      throw ShapeError(fmt::format("stack: expected values of one shape, got {} and {}",
                                   to_string(values[0].shape()), to_string(value.shape())));
    wide.push_back(expand_dims(value, axis));
  }
  return concatenate(wide, axis);
}

Values unstack(const Value& x, int axis) {
  int64_t at = normalize_axis("unstack", axis, x.shape().rank());
  Values parts;
  for (int64_t i = 0; i < known_extent("unstack", x, at); ++i)
    parts.push_back(squeeze(part(x, at, i, 1), int(at)));
  return parts;
}

Value hstack(const Values& values) {
  Values wide = all_at_least(values, 1);
  return concatenate(wide, !wide.empty() && wide[0].shape().rank() == 1 ? 0 : 1);
}
Value vstack(const Values& values) { return concatenate(all_at_least(values, 2), 0); }
Value dstack(const Values& values) { return concatenate(all_at_least(values, 3), 2); }

Value append(const Value& a, const Value& b, std::optional<int> axis) {
  return axis ? concatenate({a, b}, *axis) : concatenate({ravel(a), ravel(b)}, 0);
}

Values split(const Value& x, const std::vector<int64_t>& indices, int axis) {
  int64_t at = normalize_axis("split", axis, x.shape().rank());
  int64_t extent = known_extent("split", x, at), begin = 0;
  Values parts;
  auto add = [&](int64_t end) {
    end = std::clamp(end < 0 ? end + extent : end, begin, extent);
    parts.push_back(part(x, at, begin, end - begin));
    begin = end;
  };
  for (int64_t index : indices) add(index);
  add(extent);
  return parts;
}

Values array_split(const Value& x, int64_t parts, int axis) {
  if (parts < 1)
    throw ValueError(fmt::format("array_split: expected 1 part or more, got {}", parts));
  int64_t at = normalize_axis("array_split", axis, x.shape().rank());
  int64_t extent = known_extent("array_split", x, at);
  Ints places;
  for (int64_t i = 1; i < parts; ++i)
    places.push_back(i * (extent / parts) + std::min(i, extent % parts));
  return split(x, places, axis);
}

Values hsplit(const Value& x, int64_t parts) {
  return split(x, int(parts), x.shape().rank() == 1 ? 0 : 1);
}
Values vsplit(const Value& x, int64_t parts) { return split(x, int(parts), 0); }
Values dsplit(const Value& x, int64_t parts) { return split(x, int(parts), 2); }

Value ravel(const Value& x) { return x.shape().rank() == 1 ? x : reshape(x, {-1}); }

Value moveaxis(const Value& x, const std::vector<int64_t>& source,
               const std::vector<int64_t>& destination) {
  int rank = x.shape().rank();
  if (source.size() != destination.size())
    throw ShapeError(
        fmt::format("moveaxis: {} axes for {} places", source.size(), destination.size()));
  Ints perm(size_t(rank), -1), rest;
  for (size_t i = 0; i < source.size(); ++i)
    perm[size_t(normalize_axis("moveaxis", destination[i], rank))] =
        normalize_axis("moveaxis", source[i], rank);
  for (int64_t axis = 0; axis < rank; ++axis)
    if (std::ranges::find(perm, axis) == perm.end()) rest.push_back(axis);
  auto next = rest.begin();
  for (int64_t& axis : perm)
    if (axis < 0 && next != rest.end()) axis = *next++;
  return emit::transpose(x, perm);
}

Value swapaxes(const Value& x, int axis1, int axis2) {
  int rank = x.shape().rank();
  return emit::transpose(x, swapped(rank, normalize_axis("swapaxes", axis1, rank),
                                    normalize_axis("swapaxes", axis2, rank)));
}

Value flip(const Value& x, const std::vector<int64_t>& axes) {
  Value y = x;
  for (int64_t axis : normalize_axes("flip", axes, x.shape().rank())) {
    Ints places(static_cast<size_t>(known_extent("flip", x, axis)));
    std::iota(places.rbegin(), places.rend(), 0);
    if (places.size() > 1) y = at_places(y, places, axis);
  }
  return y;
}
Value fliplr(const Value& x) { return flip(x, {1}); }
Value flipud(const Value& x) { return flip(x, {0}); }

Value roll(const Value& x, int64_t shift, std::optional<int> axis) {
  if (!axis) return reshape(roll(ravel(x), shift, 0), x.shape());
  int64_t at = normalize_axis("roll", *axis, x.shape().rank());
  int64_t extent = known_extent("roll", x, at);
  int64_t moved = extent == 0 ? 0 : ((shift % extent) + extent) % extent;
  if (moved == 0) return x;
  return concatenate({part(x, at, extent - moved, moved), part(x, at, 0, extent - moved)}, int(at));
}

Value rot90(const Value& x, int64_t times, int axis1, int axis2) {
  int64_t turns = ((times % 4) + 4) % 4;
  if (turns == 0) return x;
  if (turns == 2) return flip(x, {axis1, axis2});
  Value turned = swapaxes(turns == 1 ? flip(x, {axis2}) : x, axis1, axis2);
  return turns == 1 ? turned : flip(turned, {axis2});
}

// [.., n, ..] → [.., 1, n, ..] → [.., repeats, n, ..] → [.., repeats · n, ..]
Value tile(const Value& x, const std::vector<int64_t>& repeats) {
  Ints times = repeats, dims = emit::dims(x.shape()), apart, wide, joined;
  while (times.size() < dims.size()) times.insert(times.begin(), 1);
  while (dims.size() < times.size()) dims.insert(dims.begin(), 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (times[i] != 1) {
      apart.push_back(1);
      wide.push_back(times[i]);
    }
    apart.push_back(dims[i]);
    wide.push_back(dims[i]);
    joined.push_back(dims[i] < 0 ? (times[i] == 1 ? dims[i] : -1) : dims[i] * times[i]);
  }
  if (apart.size() > size_t(Shape::kMaxRank))
    throw ShapeError("tile: too many axes are repeated at once; tile some of them first");
  Value spread = emit::broadcast_to(emit::reshape(x, shape_of(apart)), shape_of(wide));
  return emit::reshape(spread, shape_of(joined));
}

Value repeat(const Value& x, int64_t repeats, std::optional<int> axis) {
  if (!axis) return repeat(ravel(x), repeats, 0);
  if (repeats < 0) throw ValueError(fmt::format("repeat: expected 0 or more, got {}", repeats));
  int64_t at = normalize_axis("repeat", *axis, x.shape().rank());
  Ints apart = emit::dims(x.shape()), joined = apart;
  apart.insert(apart.begin() + at + 1, 1);
  Ints wide = apart;
  wide[size_t(at) + 1] = repeats;
  if (joined[size_t(at)] >= 0) joined[size_t(at)] *= repeats;
  Value spread = emit::broadcast_to(emit::reshape(x, shape_of(apart)), shape_of(wide));
  return emit::reshape(spread, shape_of(joined));
}

Value repeat(const Value& x, const std::vector<int64_t>& repeats, std::optional<int> axis) {
  if (!axis) return repeat(ravel(x), repeats, 0);
  int64_t at = normalize_axis("repeat", *axis, x.shape().rank());
  int64_t extent = known_extent("repeat", x, at);
  if (repeats.size() == 1) return repeat(x, repeats[0], axis);
  if (int64_t(repeats.size()) != extent)
    throw ShapeError(fmt::format("repeat: {} numbers for the {} elements of axis {}",
                                 repeats.size(), extent, *axis));
  Ints places;
  for (int64_t i = 0; i < extent; ++i) places.insert(places.end(), size_t(repeats[size_t(i)]), i);
  return at_places(x, places, at);
}

Value get_item(const Value& x, const std::vector<Slicing>& axes) {
  if (int(axes.size()) > x.shape().rank())
    throw ShapeError(fmt::format("get_item: {} slices of {}", axes.size(), to_string(x.shape())));
  Value y = x;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const Slicing& cut = axes[axis];
    if (!cut.begin && !cut.end && cut.step == 1) continue;
    if (cut.step == 0) throw ValueError("get_item: the step is 0");
    int64_t n = known_extent("get_item", x, int64_t(axis));
    bool back = cut.step < 0;
    auto place = [&](std::optional<int64_t> at, int64_t otherwise) {
      if (!at) return otherwise;
      return std::clamp<int64_t>(*at < 0 ? *at + n : *at, back ? -1 : 0, back ? n - 1 : n);
    };
    int64_t begin = place(cut.begin, back ? n - 1 : 0), end = place(cut.end, back ? -1 : n);
    if (cut.step == 1) {
      y = part(y, int64_t(axis), begin, std::max<int64_t>(end - begin, 0));
      continue;
    }
    Ints places;
    for (int64_t at = begin; back ? at > end : at < end; at += cut.step) places.push_back(at);
    y = at_places(y, places, int64_t(axis));
  }
  return y;
}

// [B, H, W, s · s · C] → [B, H, s, W, s, C]
Value depth_to_space(const Value& x, int64_t block_size) {
  const Shape& shape = x.shape();
  if (shape.rank() != 4 || block_size < 1 || shape[3] % (block_size * block_size) != 0)
    throw ShapeError(
        fmt::format("depth_to_space: expected [B, H, W, C] with C a multiple of {}, got {}",
                    block_size * block_size, to_string(shape)));
  int64_t channels = shape[3] / (block_size * block_size);
  Value apart =
      split_axes(x, {shape[0], shape[1], shape[2], block_size, block_size, channels}, {1, 1, 1, 3});
  return merge_axes(emit::transpose(apart, {0, 1, 3, 2, 4, 5}), {1, 2, 2, 1});
}

Value space_to_depth(const Value& x, int64_t block_size) {
  const Shape& shape = x.shape();
  auto divides = [&](int64_t extent) { return extent < 0 || extent % block_size == 0; };
  if (shape.rank() != 4 || block_size < 1 || !divides(shape[1]) || !divides(shape[2]))
    throw ShapeError(
        fmt::format("space_to_depth: expected [B, H, W, C] with H and W multiples of {}, got {}",
                    block_size, to_string(shape)));
  auto part_of = [&](int64_t extent) { return extent < 0 ? -1 : extent / block_size; };
  Value apart = split_axes(
      x, {shape[0], part_of(shape[1]), block_size, part_of(shape[2]), block_size, shape[3]},
      {1, 2, 2, 1});
  return merge_axes(emit::transpose(apart, {0, 1, 3, 2, 4, 5}), {1, 1, 1, 3});
}

Value extract_sequences(const Value& x, int64_t sequence_length, int64_t stride) {
  int64_t axis = x.shape().rank() - 1, n = known_extent("extract_sequences", x, axis);
  if (sequence_length < 1 || sequence_length > n || stride < 1)
    throw ShapeError(fmt::format("extract_sequences: no windows of {} elements, {} apart, in {}",
                                 sequence_length, stride, to_string(x.shape())));
  Ints places, dims = emit::dims(x.shape());
  for (int64_t begin = 0; begin + sequence_length <= n; begin += stride)
    for (int64_t i = 0; i < sequence_length; ++i) places.push_back(begin + i);
  dims.back() = (n - sequence_length) / stride + 1;
  dims.push_back(sequence_length);
  return emit::reshape(at_places(x, places, axis), shape_of(dims));
}

}  // namespace stoker::ops
