#include "parity/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace stoker::test {

namespace {

constexpr double kEpsilon = 0x1p-23;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest(std::span<const float> values) {
  double found = 0;
  for (float value : values) found = std::max(found, std::abs(double(value)));
  return found;
}

// [1, 0, 7] of a row-major index.
std::string position(const Shape& shape, int64_t index) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = std::to_string(index % shape[axis]) + (text.empty() ? "" : ", ") + text;
    index /= shape[axis];
  }
  return fmt::format("[{}]", text);
}

struct Row {
  std::span<const float> values;
  double noise, scale;
  double tolerance() const { return kMultiple * noise + kRoundings * kEpsilon * scale; }
};

// Element `index` stands in row index / (elements / rows).
Row row_of(const Expected& expected, int64_t row, int64_t size) {
  std::span<const float> values =
      expected.values.values<float>().subspan(size_t(row * size), size_t(size));
  return {values, expected.noise.at(row), largest(values)};
}

// NaN is infinitely far, and an exact result is no distance away even where nothing is allowed.
double share_of(double got, double wanted, double tolerance) {
  double difference = std::abs(got - wanted);
  if (difference == 0) return 0;
  return std::isfinite(difference) && tolerance > 0 ? difference / tolerance : kInfinity;
}

}  // namespace

Comparison compare(const Tensor& got, const Expected& expected) {
  const TensorSpec& spec = expected.values.spec();
  if (got.spec() != spec)
    return {kInfinity, fmt::format("{}: got {}, expected {}", expected.name, to_string(got.spec()),
                                   to_string(spec))};
  int64_t rows = expected.noise.elements(), size = spec.shape.elements() / rows;
  int64_t wrong = 0, worst = 0;
  double share = -1;
  for (int64_t row = 0; row < rows; ++row) {
    double tolerance = row_of(expected, row, size).tolerance();
    for (int64_t index = row * size; index < (row + 1) * size; ++index) {
      double here = share_of(got.at(index), expected.values.at(index), tolerance);
      if (here > 1) ++wrong;
      if (here > share) share = here, worst = index;
    }
  }
  Row row = row_of(expected, worst / size, size);
  return {share,
          fmt::format("{} {}: {} of {} elements differ by more than is allowed; worst at {}: got "
                      "{:.9g}, expected {:.9g}, difference {:.3g}, tolerance {:.3g} = {} · noise "
                      "{:.3g} + {} · 2^-23 · scale {:.3g}",
                      expected.name, to_string(spec.shape), wrong, spec.shape.elements(),
                      position(spec.shape, worst), got.at(worst), expected.values.at(worst),
                      std::abs(got.at(worst) - expected.values.at(worst)), row.tolerance(),
                      kMultiple, row.noise, kRoundings, row.scale)};
}

testing::AssertionResult agrees(const Tensor& got, const Expected& expected) {
  Comparison comparison = compare(got, expected);
  testing::Test::RecordProperty(expected.name, fmt::format("{:.3f}", comparison.share));
  if (comparison.share <= 1) return testing::AssertionSuccess() << comparison.text;
  return testing::AssertionFailure() << comparison.text;
}

}  // namespace stoker::test
