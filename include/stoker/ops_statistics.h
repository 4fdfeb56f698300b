// Sorting, running sums and statistics. Reductions take Reduce of <stoker/ops.h>: axes, all of them
// where there are none, and keepdims.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/ops.h>

namespace stoker::ops {

// --- order: NaN is the largest number; equal elements keep their order -------------------------
Value sort(const Value& x, int axis = -1);
Value argsort(const Value& x, int axis = -1);                    // int32
Value argmin(const Value& x, int axis = -1);                     // int64; the first of equals
Value argpartition(const Value& x, int64_t kth, int axis = -1);  // wholly sorted
struct TopK {
  Value values, indices;  // the largest first; indices: int32
};
TopK top_k(const Value& x, int64_t k);  // of the last axis
struct Quantile {
  std::vector<int64_t> axes = {};  // empty: all
  bool keepdims = false;
  std::string method = "linear";  // lower, higher, midpoint, nearest
};
// NaN where an element is. A vector of q makes a first axis.
Value quantile(const Value& x, double q, const Quantile& options = {});
Value quantile(const Value& x, const std::vector<double>& q, const Quantile& options = {});
Value percentile(const Value& x, double q, const Quantile& options = {});
Value median(const Value& x, const Quantile& options = {});
// Where each value would go into a sorted vector [n]: int32. side: "left" or "right" of equals.
Value searchsorted(const Value& sorted, const Value& values, const std::string& side = "left");
Value digitize(const Value& x, const Value& bins);
struct Histogram {
  Value counts, edges;  // [bins] int32, [bins + 1]
};
Histogram histogram(const Value& x, int64_t bins, double low, double high);

// --- running sums and differences --------------------------------------------------------------
Value cumsum(const Value& x, int axis = -1);
Value cumprod(const Value& x, int axis = -1);
// y[t] = x[t] + factor[t] · y[t - 1]: discounted returns, moving averages, linear recurrences.
// factor: the shape of x, or one that broadcasts to it.
struct Recurrence {
  int axis = -1;
  bool reverse = false;
};
Value linear_recurrence(const Value& x, const Value& factor, const Recurrence& options = {});
Value diff(const Value& x, int order = 1, int axis = -1);
Value trapezoid(const Value& y, double dx = 1, int axis = -1);

// --- reductions --------------------------------------------------------------------------------
Value any(const Value& x, const Reduce& options = {});  // bool
Value all(const Value& x, const Reduce& options = {});  // bool
Value amax(const Value& x, const Reduce& options = {});
Value amin(const Value& x, const Reduce& options = {});
Value ptp(const Value& x, const Reduce& options = {});            // max - min
Value count_nonzero(const Value& x, const Reduce& options = {});  // int32
Value var(const Value& x, const Reduce& options = {});            // without Bessel's correction
Value std(const Value& x, const Reduce& options = {});
Value average(const Value& x, const Value& weights, const Reduce& options = {});
Value logsumexp(const Value& x, const Reduce& options = {});
Value norm(const Value& x, const Reduce& options = {});  // Euclid's, of all these axes
struct Moments {
  Value mean, variance;
};
Moments moments(const Value& x, const Reduce& options = {});
Value corrcoef(const Value& x);  // rows are variables: [n, samples] → [n, n]
// Of two vectors. mode: valid, same, full.
Value correlate(const Value& a, const Value& b, const std::string& mode = "valid");

// --- without the elements that are NaN ---------------------------------------------------------
Value nansum(const Value& x, const Reduce& options = {});
Value nanprod(const Value& x, const Reduce& options = {});
Value nanmax(const Value& x, const Reduce& options = {});
Value nanmin(const Value& x, const Reduce& options = {});
Value nanmean(const Value& x, const Reduce& options = {});
Value nanvar(const Value& x, const Reduce& options = {});
Value nanstd(const Value& x, const Reduce& options = {});
// NaN where all elements are.
Value nanquantile(const Value& x, double q, const Quantile& options = {});
Value nanquantile(const Value& x, const std::vector<double>& q, const Quantile& options = {});
Value nanpercentile(const Value& x, double q, const Quantile& options = {});
Value nanmedian(const Value& x, const Quantile& options = {});
Value nanargmax(const Value& x, int axis = -1);
Value nanargmin(const Value& x, int axis = -1);
Value nancumsum(const Value& x, int axis = -1);
Value nancumprod(const Value& x, int axis = -1);

}  // namespace stoker::ops
