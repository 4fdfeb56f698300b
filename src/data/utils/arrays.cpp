// to_categorical, normalize, pad_sequences.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <stoker/utils.h>

namespace stoker::utils {

namespace {

Shape append_axis(const Shape& shape, int64_t extent) {
  std::vector<int64_t> dims(shape.begin(), shape.end());
  dims.push_back(extent);
  return Shape(dims);
}

Shape without_last_one(const Shape& shape) {
  bool one = shape.rank() > 1 && shape[-1] == 1;
  return one ? Shape(shape.dims().first(size_t(shape.rank() - 1))) : shape;
}

// A tensor as [outer, extent, inner] around an axis.
struct Around {
  int64_t outer = 1, extent, inner = 1;
  Around(const Shape& shape, int axis) : extent(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

double norm_of(const float* first, int64_t count, int64_t stride, double order) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = std::abs(double(first[i * stride]));
    sum = std::isinf(order) ? std::max(sum, value) : sum + std::pow(value, order);
  }
  return std::isinf(order) ? sum : std::pow(sum, 1 / order);
}

bool at_front(const char* option, const std::string& side) {
  if (side != "pre" && side != "post")
    throw ValueError(
        fmt::format("pad_sequences: expected {} \"pre\" or \"post\", got \"{}\"", option, side));
  return side == "pre";
}

Shape check_rows(const std::vector<Tensor>& sequences) {
  Shape row = sequences.empty() ? Shape() : sequences[0].shape();
  for (const Tensor& each : sequences)
    if (each.shape().rank() == 0 || each.shape().drop_front() != row.drop_front())
      throw ShapeError(fmt::format(
          "pad_sequences: expected sequences [T, ..] that differ in T only, got {} and {}",
          to_string(row), to_string(each.shape())));
  return row.rank() == 0 ? row : row.drop_front();
}

}  // namespace

Tensor to_categorical(const Tensor& classes, int64_t num_classes) {
  std::vector<int64_t> ids = classes.to_vector<int64_t>();
  if (num_classes < 0)
    throw ValueError(
        fmt::format("to_categorical: expected num_classes of 0 or more, got {}", num_classes));
  if (num_classes == 0)
    for (int64_t id : ids) num_classes = std::max(num_classes, id + 1);
  Tensor out = Tensor::zeros(append_axis(without_last_one(classes.shape()), num_classes));
  auto* values = out.data_mut<float>();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= num_classes)
      throw ValueError(fmt::format("to_categorical: element {} is class {}, expected 0 … {}", i,
                                   ids[i], num_classes - 1));
    values[int64_t(i) * num_classes + ids[i]] = 1;
  }
  return out;
}

Tensor normalize(const Tensor& x, int axis, double order) {
  int rank = x.shape().rank();
  if (axis < -rank || axis >= rank)
    throw ShapeError(
        fmt::format("normalize: axis {} is not one of {}", axis, to_string(x.shape())));
  if (!(order > 0))
    throw ValueError(fmt::format("normalize: expected an order above 0, got {}", order));
  Tensor out = x.cast(DType::float32).clone();
  auto* values = out.data_mut<float>();
  Around around(x.shape(), axis < 0 ? axis + rank : axis);
  for (int64_t outer = 0; outer < around.outer; ++outer)
    for (int64_t inner = 0; inner < around.inner; ++inner) {
      float* first = values + outer * around.extent * around.inner + inner;
      double norm = norm_of(first, around.extent, around.inner, order);
      for (int64_t i = 0; norm != 0 && i < around.extent; ++i)
        first[i * around.inner] = float(first[i * around.inner] / norm);
    }
  return out;
}

Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options) {
  Shape row = check_rows(sequences);
  int64_t longest = 0;
  for (const Tensor& each : sequences) longest = std::max(longest, each.shape()[0]);
  int64_t length = options.maxlen.value_or(longest);
  if (length < 0)
    throw ValueError(fmt::format("pad_sequences: expected maxlen of 0 or more, got {}", length));
  bool pads_front = at_front("padding", options.padding);
  bool cuts_front = at_front("truncating", options.truncating);
  if (options.dtype == DType::bytes)
    throw ValueError("pad_sequences: expected a dtype of numbers, got bytes");
  Tensor out = Tensor::full(row.prepend(length).prepend(int64_t(sequences.size())), options.value,
                            options.dtype);
  size_t step = size_t(row.elements()) * size_of(options.dtype);
  auto* to = static_cast<std::byte*>(out.raw_mut());
  for (const Tensor& each : sequences) {
    int64_t steps = each.shape()[0], kept = std::min(steps, length);
    Tensor part = each.cast(options.dtype);
    const auto* from = static_cast<const std::byte*>(part.raw());
    if (kept > 0)
      std::memcpy(to + (pads_front ? size_t(length - kept) * step : 0),
                  from + (cuts_front ? size_t(steps - kept) * step : 0), size_t(kept) * step);
    to += size_t(length) * step;
  }
  return out;
}

Tensor pad_sequences(const std::vector<std::vector<int64_t>>& sequences,
                     const PadSequencesOptions& options) {
  std::vector<Tensor> tensors;
  tensors.reserve(sequences.size());
  for (const std::vector<int64_t>& each : sequences)
    tensors.push_back(Tensor::from(each, {int64_t(each.size())}));
  return pad_sequences(tensors, options);
}

}  // namespace stoker::utils
