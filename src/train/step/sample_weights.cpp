#include "train/step/sample_weights.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/visit_dtype.h"
#include "engine/input_limits.h"
#include "nn/element_weights.h"

namespace stoker {

namespace {

int64_t class_count(const Shape& prediction) {
  return prediction.rank() > 1 && prediction[-1] > 1 ? prediction[-1] : 2;
}

// The class of a row, or -1: not one alone is the largest, or, unless it may be soft, not one
// alone is 1 and the others 0.
template <class T>
int64_t class_of(std::span<const T> row, bool soft) {
  size_t best = 0;
  for (size_t i = 1; i < row.size(); ++i)
    if (float(row[i]) > float(row[best])) best = i;
  for (size_t i = 0; i < row.size(); ++i) {
    bool clear = soft ? float(row[i]) < float(row[best]) : float(row[i]) == 0;
    if (i != best && !clear) return -1;
  }
  return soft || float(row[best]) == 1 ? int64_t(best) : -1;
}

std::optional<int64_t> ignored_by(const Loss& loss) {
  const Attr* ignored = loss.config().find("ignore_class");
  const auto* id = ignored != nullptr ? std::get_if<int64_t>(ignored) : nullptr;
  return id != nullptr ? std::optional(*id) : std::nullopt;
}

// The same with 0 in place of every `id`.
Tensor without(const Tensor& y, int64_t id) {
  Tensor rest = y.clone();
  visit_numeric(y.dtype(), [&]<class T>(std::type_identity<T>) {
    T* values = rest.data_mut<T>();
    for (int64_t i = 0; i < rest.elements(); ++i)
      if (float(values[i]) == float(id)) values[i] = T(0.0F);
  });
  return rest;
}

// Row-major element `index` of `shape`, in weights of shape `beside`, whose extents may be 1.
int64_t weight_index(int64_t index, const Shape& shape, const Shape& beside) {
  int64_t at = 0, stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (beside[axis] > 1) at += index % shape[axis] * stride;
    stride *= beside[axis];
    index /= shape[axis];
  }
  return at;
}

}  // namespace

ClassWeights::ClassWeights(const std::map<int64_t, double>& weights, const Loss& loss,
                           const Shape& prediction, const std::string& action)
    : action_(action),
      prediction_(prediction),
      soft_(loss.kind() == "CategoricalCrossentropy" ||
            loss.kind() == "CategoricalFocalCrossentropy" || loss.kind() == "KLDivergence"),
      ignored_(ignored_by(loss)),
      table_(size_t(class_count(prediction)), 1.0F) {
  auto classes = int64_t(table_.size());
  for (const auto& [key, weight] : weights) {
    if (key < 0 || key >= classes)
      throw ValueError(fmt::format("{}: class_weight has class {}, but classes are 0 to {}", action,
                                   key, classes - 1));
    if (!(weight >= 0) || !std::isfinite(weight))
      throw ValueError(
          fmt::format("{}: class_weight of class {} is {}, expected a number of at least 0", action,
                      key, weight));
    table_[size_t(key)] = float(weight);
  }
}

void ClassWeights::fail(const std::string& what) const {
  throw ValueError(fmt::format(
      "{}: class_weight: {}; it is for targets that name one class each. Use sample_weight",
      action_, what));
}

bool ClassWeights::one_hot(const Shape& y) const {
  return y.rank() > 1 && y.rank() == prediction_.rank() && prediction_[-1] > 1 &&
         y[-1] == prediction_[-1];
}

Shape ClassWeights::element_shape(const Shape& y) const {
  auto axes = size_t(std::max(prediction_.rank() - 1, 1));
  bool has_axes = size_t(y.rank()) >= axes;
  Shape shape = has_axes ? Shape(y.dims().first(axes)) : y;
  if (!has_axes || (!one_hot(y) && shape.elements() != y.elements()))
    throw ShapeError(
        fmt::format("{}: class_weight: predictions of shape {} and targets of shape {} do not fit",
                    action_, to_string(prediction_), to_string(y)));
  return shape;
}

// int64, one per element.
Tensor ClassWeights::class_ids(const Tensor& y) const {
  Tensor ids(DType::int64, element_shape(y.shape()));
  auto* out = ids.data_mut<int64_t>();
  int64_t rows = ids.elements();
  if (!one_hot(y.shape())) {
    std::string wrong =
        limit_violation({int64_t(table_.size()), "class id"}, ignored_ ? without(y, *ignored_) : y);
    if (!wrong.empty()) fail(wrong);
  }
  visit_numeric(y.dtype(), [&]<class T>(std::type_identity<T>) {
    std::span<const T> values = y.values<T>();
    if (!one_hot(y.shape())) {
      for (int64_t row = 0; row < rows; ++row) out[row] = int64_t(float(values[size_t(row)]));
      if (ignored_) std::replace(out, out + rows, *ignored_, int64_t(-1));
      return;
    }
    size_t columns = table_.size();
    for (int64_t row = 0; row < rows; ++row) {
      out[row] = class_of(values.subspan(size_t(row) * columns, columns), soft_);
      if (out[row] < 0) fail(fmt::format("row {} of the targets is not one-hot", row));
    }
  });
  return ids;
}

Tensor ClassWeights::of(const Tensor& y, const Tensor& sample_weight) const {
  Tensor ids = class_ids(y);
  const Shape& shape = ids.shape();
  Tensor weights(DType::float32, shape);
  float* out = weights.data_mut<float>();
  for (int64_t i = 0; i < ids.elements(); ++i) {
    int64_t id = ids.data<int64_t>()[i];
    out[i] = id < 0 ? 1.0F : table_[size_t(id)];
  }
  if (!sample_weight.defined()) return weights;
  Shape beside = weight_shape_beside(action_, sample_weight.shape(), shape);
  Tensor own = as_weights(sample_weight);
  for (int64_t i = 0; i < ids.elements(); ++i)
    out[i] *= own.data<float>()[weight_index(i, shape, beside)];
  return weights;
}

Tensor as_weights(const Tensor& sample_weight) {
  bool flat = sample_weight.shape().rank() == 1 || !weighs_samples(sample_weight.shape());
  Tensor shaped = flat ? sample_weight : sample_weight.reshape({-1});
  return shaped.dtype() == DType::float32 ? shaped : shaped.cast(DType::float32);
}

}  // namespace stoker
