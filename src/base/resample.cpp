#include "base/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

struct Filter {
  double (*weight)(double distance);
  double support;
};

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

double keys(double x) {
  x = std::abs(x);
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return (1.5 * x - 2.5) * x * x + 1;
}

double lanczos(double x, double radius) {
  x = std::abs(x);
  if (x > radius) return 0;
  if (x <= 1e-3) return 1;
  double angle = std::numbers::pi * x;
  return radius * std::sin(angle) * std::sin(angle / radius) / (angle * angle);
}
double lanczos3(double x) { return lanczos(x, 3); }
double lanczos5(double x) { return lanczos(x, 5); }

Filter filter_of(const std::string& name) {
  if (name == "bilinear") return {triangle, 1};
  if (name == "bicubic") return {keys, 2};
  if (name == "lanczos3") return {lanczos3, 3};
  if (name == "lanczos5") return {lanczos5, 5};
  throw ValueError(
      fmt::format("resize: interpolation \"{}\"; expected nearest, bilinear, bicubic, lanczos3 or "
                  "lanczos5",
                  name));
}

}  // namespace

std::vector<float> resample_matrix(int64_t in, int64_t out, const Resample& how) {
  constexpr double kTable = 1024;  // positions per pixel of TensorFlow's bicubic
  std::vector<float> matrix(size_t(in * out), 0.0F);
  double scale = double(in) / double(out);
  bool nearest = how.interpolation == "nearest";
  Filter filter = nearest ? Filter{} : filter_of(how.interpolation);
  double wide = how.antialias ? std::max(scale, 1.0) : 1.0;
  std::vector<double> weights(size_t(in), 0.0);
  for (int64_t to = 0; to < out; ++to) {
    double centre = (double(to) + 0.5) * scale;
    if (nearest) {
      matrix[size_t(std::min(int64_t(centre), in - 1) * out + to)] = 1;
      continue;
    }
    double position = centre - 0.5;
    if (how.interpolation == "bicubic" && !how.antialias)
      position =
          std::floor(position) + std::round((position - std::floor(position)) * kTable) / kTable;
    // bilinear without antialias repeats the edge; all others leave out what is not there.
    bool clamped = how.interpolation == "bilinear" && !how.antialias;
    if (clamped) position = std::clamp(position, 0.0, double(in - 1));
    double sum = 0;
    for (int64_t from = 0; from < in; ++from)
      sum += weights[size_t(from)] = filter.weight((double(from) - position) / wide);
    for (int64_t from = 0; from < in; ++from)
      matrix[size_t(from * out + to)] = float(weights[size_t(from)] / sum);
  }
  return matrix;
}

}  // namespace stoker
