#include "train/sample_weights.h"

#include <cmath>

#include <fmt/format.h>

namespace stoker {

namespace {

// y: [N], [N, 1] class ids, or [N, classes] one-hot.
int64_t class_of(const Tensor& y, int64_t row, int64_t columns) {
  if (columns == 1) return int64_t(std::llround(y.at(row)));
  int64_t best = 0;
  for (int64_t column = 1; column < columns; ++column)
    if (y.at(row * columns + column) > y.at(row * columns + best)) best = column;
  return best;
}

}  // namespace

ClassWeights::ClassWeights(const std::map<int64_t, double>& weights, int64_t classes,
                           const std::string& action)
    : table_(size_t(classes), 1.0F) {
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

Tensor ClassWeights::of(const Tensor& y, const Tensor& sample_weight) const {
  int64_t rows = y.shape()[0];
  int64_t columns = rows == 0 ? 1 : y.elements() / rows;
  Tensor own = sample_weight.defined() ? as_row_weights(sample_weight) : Tensor();
  Tensor weights(DType::float32, {rows});
  float* out = weights.data_mut<float>();
  for (int64_t row = 0; row < rows; ++row) {
    int64_t id = class_of(y, row, columns);
    bool known = id >= 0 && id < int64_t(table_.size());
    out[row] =
        (known ? table_[size_t(id)] : 1.0F) * (own.defined() ? own.data<float>()[row] : 1.0F);
  }
  return weights;
}

Tensor as_row_weights(const Tensor& sample_weight) {
  Tensor flat = sample_weight.shape().rank() == 1 ? sample_weight : sample_weight.reshape({-1});
  return flat.dtype() == DType::float32 ? flat : flat.cast(DType::float32);
}

}  // namespace stoker
