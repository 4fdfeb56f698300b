// Numbers in eight bits: value = (stored − zero_point) · scale. What the shape rules, the engines and
// the exporter share of the ops on them. Every engine computes these few steps in float32, one
// rounding after the other and none of them contracted, so that all store the same integers.
#pragma once

#include <cmath>
#include <cstdint>

#include <stoker/attrs.h>
#include <stoker/shape.h>

namespace stoker {
class OpRegistry;
void register_quantized_ops(OpRegistry& registry);
}  // namespace stoker

namespace stoker::quantized {

inline constexpr int64_t kLowest = 0, kHighest = 255;
// Products that an int32 holds whatever they are: 2³¹ / (255 · 128).
inline constexpr int64_t kMostProducts = 65793;

// Where the result of an op is stored: attributes y_scale, y_zero_point, low and high (of what is
// stored: a relu is low = zero point), and dtype "uint8" or "float32".
struct Target {
  explicit Target(const Attrs& attrs)
      : floats(attrs.get_or<std::string>("dtype", "uint8") == "float32"),
        scale(floats ? 1.0 : attrs.get<double>("y_scale")),
        zero_point(floats ? 0.0F : float(attrs.get<int64_t>("y_zero_point"))),
        low(float(attrs.get_or<int64_t>("low", kLowest))),
        high(float(attrs.get_or<int64_t>("high", kHighest))) {}

  bool clips() const { return low > float(kLowest) || high < float(kHighest); }

  bool floats;  // the result is float32, and nothing below holds but a scale of 1
  double scale;
  float zero_point, low, high;
};

// What is stored for value / scale: nearest, halves to even. NaN becomes `low`.
inline uint8_t stored(float value, float zero_point, float low, float high) {
  float shifted = value + zero_point;
  shifted = shifted > low ? shifted : low;
  shifted = shifted < high ? shifted : high;
  return uint8_t(std::nearbyint(shifted));
}
inline uint8_t stored(float value, const Target& y) {
  return stored(value, y.zero_point, y.low, y.high);
}

// From sums of stored products to the target's units; `w_scale` is the filter's.
inline float multiplier(double x_scale, float w_scale, const Target& y) {
  return float(x_scale * double(w_scale) / y.scale);
}
// The sum of `count` stored numbers as their mean in the target's units.
inline float mean_multiplier(double x_scale, int64_t count, const Target& y) {
  return float(x_scale / (double(count) * y.scale));
}

// From products of two stored numbers to the target's units.
inline float product_multiplier(double a_scale, double b_scale, const Target& y) {
  return float(a_scale * b_scale / y.scale);
}
// Whether b [B, 1, .., 1, C] has one factor per sample and channel of a [B, .., C].
inline bool is_gate(const Shape& a, const Shape& b) {
  int rank = a.rank();
  if (rank < 2 || b.rank() != rank || a[0] != b[0] || a[-1] != b[-1]) return false;
  for (int axis = 1; axis + 1 < rank; ++axis)
    if (b[axis] != 1) return false;
  return true;
}

}  // namespace stoker::quantized
