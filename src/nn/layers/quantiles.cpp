#include "nn/layers/quantiles.h"

#include <algorithm>
#include <cmath>

namespace stoker {

namespace {

// Numbers with how many they stand for, ascending.
struct Summary {
  std::vector<double> values, weights;
};

Summary summarized(std::vector<float> values, double epsilon) {
  std::ranges::sort(values);
  double step = std::max(double(values.size()) * epsilon, 1.0);
  Summary summary;
  for (auto i = size_t(step - 1); i < values.size(); i += size_t(step)) {
    summary.values.push_back(values[i]);
    summary.weights.push_back(float(step));
  }
  return summary;
}

// y at x on the line through points of ascending xs; constant beyond its ends.
double on_line(double x, const std::vector<double>& xs, const std::vector<double>& ys) {
  if (x <= xs.front()) return ys.front();
  if (x >= xs.back()) return ys.back();
  auto after = size_t(std::ranges::upper_bound(xs, x) - xs.begin());
  double slope = (ys[after] - ys[after - 1]) / (xs[after] - xs[after - 1]);
  return slope * (x - xs[after - 1]) + ys[after - 1];
}

// The values at every `epsilon` of the weight.
Summary compressed(const Summary& summary, double epsilon) {
  if (double(summary.values.size()) * epsilon < 1) return summary;
  std::vector<double> sums, shares;
  for (double weight : summary.weights)
    sums.push_back(float((sums.empty() ? 0 : sums.back()) + weight));
  for (double sum : sums) shares.push_back(float(sum / sums.back()));
  Summary result;
  double before = 0;
  for (double i = 0; i < std::ceil(1 / epsilon); ++i) {
    double share = epsilon + i * epsilon, sum = on_line(share, shares, sums);
    result.values.push_back(float(on_line(share, shares, summary.values)));
    result.weights.push_back(float(sum - before));
    before = sum;
  }
  return result;
}

}  // namespace

std::vector<double> quantile_boundaries(std::vector<float> values, int bins, double epsilon) {
  Summary summary = compressed(summarized(std::move(values), epsilon), epsilon);
  std::vector<double> boundaries = compressed(summary, 1.0 / bins).values;
  if (!boundaries.empty()) boundaries.pop_back();
  return boundaries;
}

}  // namespace stoker
