#include "support/draw.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>

#include "base/convert.h"
#include "base/visit_dtype.h"

namespace stoker::test {

namespace {

constexpr double kMargin = 1.0 / 16;
constexpr double kLadder = 1.0 / 64;

bool too_close(double value, const std::vector<double>& avoid, double margin) {
  return std::ranges::any_of(avoid, [&](double point) { return std::abs(value - point) < margin; });
}

double draw_integer(const Fill& fill, Rng& rng) {
  while (true) {
    auto value = double(rng.integer(int64_t(fill.low), int64_t(std::ceil(fill.high))));
    if (!too_close(value, fill.avoid, 0.5)) return value;
  }
}

double draw_float(const Fill& fill, Rng& rng, double grid) {
  while (true) {
    // 24 + 24 bits, so that a float32 gets all of its mantissa even near zero.
    double unit = double(rng.uniform()) + double(rng.uniform()) * 0x1p-24;
    double value = fill.low + (fill.high - fill.low) * unit;
    if (fill.step > 0)
      value = fill.offset + fill.step * std::round((value - fill.offset) / fill.step);
    if (grid > 0) value = std::round(value / grid) * grid;
    if (!too_close(value, fill.avoid, kMargin)) return value;
  }
}

std::vector<double> ladder(size_t size, Rng& rng) {
  std::vector<double> values(size);
  std::iota(values.begin(), values.end(), -double(size / 2));
  for (double& value : values) value *= kLadder;
  std::ranges::shuffle(values, rng);
  return values;
}

}  // namespace

Tensor draw(const TensorSpec& spec, const Fill& fill, Rng& rng, double grid) {
  auto size = size_t(spec.shape.elements());
  if (fill.distinct) return make_tensor(spec, ladder(size, rng));
  std::vector<double> values(size);
  for (size_t i = 0; i < size; ++i) {
    if (!fill.values.empty())
      values[i] = fill.values[i % fill.values.size()];
    else if (spec.dtype == DType::bool_)
      values[i] = double(rng.integer(0, 2));
    else
      values[i] = is_integer(spec.dtype) ? draw_integer(fill, rng) : draw_float(fill, rng, grid);
  }
  return make_tensor(spec, values);
}

Tensor make_tensor(const TensorSpec& spec, const std::vector<double>& values) {
  Tensor tensor(spec.dtype, spec.shape);
  visit_numeric(spec.dtype, [&]<class T>(std::type_identity<T>) {
    std::ranges::transform(values, tensor.data_mut<T>(), convert<T, double>);
  });
  return tensor;
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.elements(); ++i) values.push_back(tensor.at(i));
  return values;
}

double largest(const Tensor& tensor) {
  double most = 0;
  for (double value : numbers(tensor)) most = std::max(most, std::abs(value));
  return most;
}

uint64_t fresh_seed() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("STOKER_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : uint64_t(std::random_device()());
  }();
  return seed;
}

Rng named_rng(uint64_t seed, const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (char letter : name) hash = (hash ^ uint8_t(letter)) * 0x100000001b3U;
  return Rng(seed, hash);
}

}  // namespace stoker::test
