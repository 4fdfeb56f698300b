#include "data/image/taps.h"

#include <algorithm>
#include <cmath>

namespace stoker::image {
namespace {

// How much of the source pixel [pixel, pixel + 1) belongs to an output around `centre`. Triangle:
// its distance; area: its overlap with the interval of half-width `support`.
double weight_of(double pixel, double centre, double support, ResizeMethod method) {
  if (method == ResizeMethod::area)
    return std::max(0.0, std::min(pixel + 1, centre + support) - std::max(pixel, centre - support));
  return std::max(0.0, 1 - std::abs(pixel + 0.5 - centre) / support);
}

double support_of(double scale, const Resize& how) {
  if (how.method == ResizeMethod::area) return scale / 2;
  return how.antialias ? std::max(scale, 1.0) : 1.0;
}

}  // namespace

void Taps::compute(const Axis& axis, const Resize& how) {
  double scale = axis.length / double(axis.outputs);
  double support = support_of(scale, how);
  first_.resize(size_t(axis.count));
  count_.resize(size_t(axis.count));
  stride_ = std::min(int64_t(std::ceil(2 * support)) + 2, axis.limit);
  weights_.resize(size_t(axis.count * stride_));
  most_ = 0;
  begin_ = axis.limit;
  end_ = 0;
  for (int64_t k = 0; k < axis.count; ++k) {
    int64_t position = axis.begin + (axis.reversed ? axis.count - 1 - k : k);
    double centre = axis.start + (double(position) + 0.5) * scale;
    if (how.method == ResizeMethod::nearest)
      add_nearest(k, centre, axis.limit);
    else
      add(k, centre, support, axis.limit, how.method);
  }
}

void Taps::set(int64_t output, int64_t first, int64_t count) {
  first_[size_t(output)] = int32_t(first);
  count_[size_t(output)] = int32_t(count);
  most_ = std::max(most_, count);
  begin_ = std::min(begin_, first);
  end_ = std::max(end_, first + count);
}

void Taps::add_nearest(int64_t output, double centre, int64_t limit) {
  weights_[size_t(output * stride_)] = 1;
  set(output, std::clamp(int64_t(std::floor(centre)), int64_t(0), limit - 1), 1);
}

void Taps::add(int64_t output, double centre, double support, int64_t limit, ResizeMethod method) {
  // Triangles look at pixel centres, areas at whole pixels.
  double reach = method == ResizeMethod::area ? 0.0 : 0.5;
  int64_t first = std::clamp(int64_t(std::floor(centre - support + reach)), int64_t(0), limit - 1);
  int64_t last = std::clamp(int64_t(std::ceil(centre + support - reach)), first + 1, limit);
  last = std::min(last, first + stride_);
  double* weights = weights_.data() + output * stride_;
  double sum = 0;
  for (int64_t pixel = first; pixel < last; ++pixel)
    sum += weights[pixel - first] = weight_of(double(pixel), centre, support, method);
  int64_t count = last - first;
  while (count > 1 && weights[count - 1] == 0) --count;
  if (sum <= 0) weights[0] = sum = 1;
  for (int64_t tap = 0; tap < count; ++tap) weights[tap] /= sum;
  set(output, first, count);
}

void Taps::rebase(int64_t begin) {
  for (int32_t& first : first_) first -= int32_t(begin);
  begin_ -= begin;
  end_ -= begin;
}

// The running sum is rounded, not each weight: it ends at one exactly, and hundreds of small
// weights add up to what they should.
void Taps::make_u8() {
  fixed_.resize(weights_.size());
  for (int64_t output = 0; output < outputs(); ++output) {
    const double* weights = weights_.data() + output * stride_;
    int16_t* fixed = fixed_.data() + output * stride_;
    double sum = 0;
    int64_t before = 0, taps = count(output);
    for (int64_t tap = 0; tap < taps; ++tap) {
      sum += weights[tap];
      int64_t upto = tap + 1 == taps ? 1 << kWeightBits : std::lrint(sum * (1 << kWeightBits));
      fixed[tap] = int16_t(upto - before);
      before = upto;
    }
  }
}

void Taps::make_f32() {
  floats_.resize(weights_.size());
  std::transform(weights_.begin(), weights_.end(), floats_.begin(),
                 [](double weight) { return float(weight); });
}

ColumnTaps Taps::columns_u8() {
  int64_t groups = (most_ + 3) / 4;
  expanded_.assign(size_t(outputs() * groups * 16), 0);
  for (int64_t output = 0; output < outputs(); ++output) {
    const int16_t* weights = weights_u8(output);
    for (int64_t tap = 0; tap < count(output); ++tap) {
      int16_t* at = expanded_.data() + (output * groups + tap / 4) * 16 + tap % 4 / 2 * 8 + tap % 2;
      for (int copy = 0; copy < 4; ++copy) at[copy * 2] = weights[tap];
    }
  }
  return {outputs(), first_.data(), groups, expanded_.data()};
}

FloatTaps Taps::columns_f32() const {
  return {outputs(), first_.data(), count_.data(), stride_, floats_.data()};
}

}  // namespace stoker::image
