#include "nn/metrics/counting_metric.h"

#include <algorithm>
#include <numeric>

#include <stoker/ops.h>

#include "graph/operands.h"
#include "nn/element_weights.h"
#include "nn/masks.h"
#include "nn/targets.h"

namespace stoker {

namespace {

// A float32 counts one by one up to 2^24.
constexpr int64_t kMostAtOnce = int64_t(1) << 24;

Value flat(const Value& x, const Shape& shape) {
  Value spread = x.shape() == shape ? x : ops::broadcast_to(x, shape);
  return ops::reshape(spread, {shape.elements()});
}

Value part_of(const Value& x, int64_t begin, int64_t count) {
  return count == x.shape()[0] ? x : ops::slice(x, {begin}, {count});
}

}  // namespace

void CountingMetric::add_cells(int64_t cells) {
  counts_ = add_variable("counts", {cells}, {.dtype = DType::int64});
  sums_ = add_variable("sums", {cells});
}

void CountingMetric::add_to_cells(const Value& cell, const Value& counts,
                                  const Value& sample_weight) const {
  const Shape& shape = cell.shape();
  int64_t elements = shape.elements();
  bool is_mask = sample_weight.defined() && sample_weight.dtype() == DType::bool_;
  bool weighs = sample_weight.defined() && !is_mask;
  Value amount = Tensor::full({elements}, 1.0);
  if (sample_weight.defined()) amount = flat(weights_beside(who_, sample_weight, shape), shape);
  if (counts.defined()) amount = amount * cast_to(flat(counts, shape), DType::float32);
  Value known = ops::where(ops::equal(cell, cell), cell, 0.0);  // a NaN is no index
  Value index = cast_to(ops::clip(flat(known, shape), 0, double(cells() - 1)), DType::int32);
  for (int64_t begin = 0; begin < elements; begin += kMostAtOnce) {
    int64_t count = std::min(kMostAtOnce, elements - begin);
    Value added =
        apply1("gather_grad", {part_of(index, begin, count), part_of(amount, begin, count)},
               {{"rows", cells()}});
    assign_add(weighs ? sums_ : counts_, added);
  }
}

std::vector<double> CountingMetric::read_cells() const {
  Tensor counts = counts_.read(), sums = sums_.read();
  std::vector<double> cells;
  for (int64_t i = 0; i < counts.shape()[0]; ++i) cells.push_back(counts.at(i) + sums.at(i));
  return cells;
}

double mean_of(const std::vector<double>& results) {
  return results.empty()
             ? 0
             : std::accumulate(results.begin(), results.end(), 0.0) / double(results.size());
}

double share_of(double part, double whole) { return whole == 0 ? 0 : part / whole; }

}  // namespace stoker
