// Tensors made, rearranged and indexed. Axes may be negative: from the end. Shapes are static, so
// results whose size would depend on values (nonzero, unique) take that size.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include <stoker/value.h>

namespace stoker::ops {

// --- new tensors: constants, which belong to no graph yet -------------------------------------
Value zeros(const Shape& shape, DType dtype = DType::float32);
Value ones(const Shape& shape, DType dtype = DType::float32);
Value full(const Shape& shape, double value, DType dtype = DType::float32);
Value empty(const Shape& shape, DType dtype = DType::float32);  // zeros
// Like x: its shape, also where the batch is not known yet, and its dtype unless another is given.
Value zeros_like(const Value& x, std::optional<DType> dtype = {});
Value ones_like(const Value& x, std::optional<DType> dtype = {});
Value full_like(const Value& x, const Value& value, std::optional<DType> dtype = {});
Value empty_like(const Value& x, std::optional<DType> dtype = {});  // zeros

// A number of arange(): whole numbers make int32, others float32.
struct Step {
  double value;
  bool whole;
  template <std::integral T>
  Step(T number) : value(double(number)), whole(true) {}
  Step(double number) : value(number), whole(false) {}
};
Value arange(Step stop);  // from 0
Value arange(Step start, Step stop, Step step = 1, std::optional<DType> dtype = {});
struct Spaced {
  int64_t num = 50;
  bool endpoint = true;
};
Value linspace(double start, double stop, const Spaced& options = {});
Value logspace(double start, double stop, const Spaced& options = {});   // 10^start … 10^stop
Value geomspace(double start, double stop, const Spaced& options = {});  // start … stop
struct Diagonal {
  std::optional<int64_t> columns = {};  // unset: as many as rows
  int64_t k = 0;                        // which diagonal; above the main one where positive
  DType dtype = DType::float32;
};
Value eye(int64_t rows, const Diagonal& options = {});
Value identity(int64_t rows, DType dtype = DType::float32);
Value tri(int64_t rows, const Diagonal& options = {});  // ones at and below the diagonal
// Windows of signals.
Value bartlett(int64_t length);
Value blackman(int64_t length);
Value hamming(int64_t length);
Value hanning(int64_t length);
Value kaiser(int64_t length, double beta);

// Of the last two dimensions.
Value tril(const Value& x, int64_t k = 0);
Value triu(const Value& x, int64_t k = 0);
Value diagonal(const Value& x, int64_t offset = 0, int axis1 = 0, int axis2 = 1);
Value trace(const Value& x, int64_t offset = 0, int axis1 = 0, int axis2 = 1);
Value diag(const Value& x, int64_t k = 0);  // [n] → [n, n], [n, m] → its diagonal
Value diagflat(const Value& x, int64_t k = 0);
Value vander(const Value& x, std::optional<int64_t> columns = {}, bool increasing = false);
// indexing: "xy" exchanges the first two axes, "ij" does not.
Values meshgrid(const Values& axes, const std::string& indexing = "xy");

// --- order of axes and elements ---------------------------------------------------------------
Value stack(const Values& values, int axis = 0);
Values unstack(const Value& x, int axis = 0);
Value hstack(const Values& values);
Value vstack(const Values& values);
Value dstack(const Values& values);
Value append(const Value& a, const Value& b, std::optional<int> axis = {});       // unset: flat
Values split(const Value& x, const std::vector<int64_t>& indices, int axis = 0);  // at these places
Values array_split(const Value& x, int64_t parts, int axis = 0);  // the first ones one longer
Values hsplit(const Value& x, int64_t parts);
Values vsplit(const Value& x, int64_t parts);
Values dsplit(const Value& x, int64_t parts);
Value ravel(const Value& x);
Value moveaxis(const Value& x, const std::vector<int64_t>& source,
               const std::vector<int64_t>& destination);
Value swapaxes(const Value& x, int axis1, int axis2);
Value flip(const Value& x, const std::vector<int64_t>& axes = {});  // none: all
Value fliplr(const Value& x);
Value flipud(const Value& x);
Value roll(const Value& x, int64_t shift, std::optional<int> axis = {});  // unset: flat
Value rot90(const Value& x, int64_t times = 1, int axis1 = 0, int axis2 = 1);
Value tile(const Value& x, const std::vector<int64_t>& repeats);
Value repeat(const Value& x, int64_t repeats, std::optional<int> axis = {});
Value repeat(const Value& x, const std::vector<int64_t>& repeats, std::optional<int> axis = {});
// x[begin:end:step] of every axis, as Python means it.
struct Slicing {
  std::optional<int64_t> begin = {};
  std::optional<int64_t> end = {};
  int64_t step = 1;
};
Value get_item(const Value& x, const std::vector<Slicing>& axes);
// A pattern of einops: rearrange(x, "b (h s) c -> b h (s c)", {{"s", 2}}).
using AxisLengths = std::vector<std::pair<std::string, int64_t>>;
Value rearrange(const Value& x, const std::string& pattern, const AxisLengths& lengths = {});
Value depth_to_space(const Value& x, int64_t block_size);  // [B, H, W, C]
Value space_to_depth(const Value& x, int64_t block_size);
// Windows of the last axis: [.., n] → [.., windows, sequence_length]
Value extract_sequences(const Value& x, int64_t sequence_length, int64_t stride);

// --- elements by index: negative ones count from the end, others outside take the nearest ------
Value take(const Value& x, const Value& indices, std::optional<int> axis = {});  // unset: flat
Value take_along_axis(const Value& x, const Value& indices, std::optional<int> axis = {});
// `size` elements from `start` (integers [rank]), which is moved inside where it must be.
Value dynamic_slice(const Value& x, const Value& start, const std::vector<int64_t>& size);
Value slice_update(const Value& x, const std::vector<int64_t>& start, const Value& updates);
Value slice_update(const Value& x, const Value& start, const Value& updates);
// indices: [.., d] name elements (or, with d < rank, slices) of the result; an index outside is left
// out. scatter adds up what has the same index, scatter_update keeps the last.
Value scatter(const Value& indices, const Value& values, const Shape& shape);
Value scatter_update(const Value& x, const Value& indices, const Value& updates);
// data: [n, ..], ids: [n] → [num_segments, ..]; ids outside are left out.
Value segment_sum(const Value& data, const Value& ids, int64_t num_segments);
Value segment_max(const Value& data, const Value& ids, int64_t num_segments);
Value segment_min(const Value& data, const Value& ids, int64_t num_segments);
Value segment_prod(const Value& data, const Value& ids, int64_t num_segments);
// How often each of 0 … length - 1 occurs in x: [.., n] → [.., length]; weights are added instead.
Value bincount(const Value& x, int64_t length, const Value& weights = {});
Values unravel_index(const Value& indices, const Shape& shape);
// The places of the elements that are not 0, in order: one int32 [size] per axis of x. Where there are
// fewer, the rest is fill_value; where there are more, they are cut off.
struct Nonzero {
  std::optional<int64_t> size = {};  // unset: as many as x has elements
  int64_t fill_value = 0;
};
Values nonzero(const Value& x, const Nonzero& options = {});
struct UniqueOptions {
  std::optional<int64_t> size = {};  // unset: as many as there may be
  std::optional<int> axis = {};      // unset: of all elements; set: of the slices of this axis
  double fill_value = 0;
};
struct Unique {
  Value values;   // ascending, [size], or x with `size` slices of the axis; then fill_value
  Value index;    // [size] int32: where each occurs first; 0 where there is none
  Value inverse;  // int32, the shape of x ([n] of an axis): which value each element is
  Value counts;   // [size] int32: how often each occurs; 0 where there is none
};
Unique unique(const Value& x, const UniqueOptions& options = {});
// The first choice whose condition holds.
Value select(const Values& conditions, const Values& choices, const Value& otherwise = 0.0);
Value saturate_cast(const Value& x, DType dtype);  // stops at the limits of the dtype

}  // namespace stoker::ops
