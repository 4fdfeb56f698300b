// What happens to each value on its own, and sums over values. Plain loops: the compiler makes
// vectors of them.
#include "data/image/isa/families.h"

namespace stoker::image::STOKER_ISA {
namespace {

// NaN becomes 0.
inline int32_t quantised(float v) {
  v = v > 0 ? v : 0.0F;
  return int32_t(v < 255 ? v : 255.0F);
}

template <bool Quantised, class Out>
inline Out finish(float v) {
  if constexpr (Quantised) return Out(quantised(v));
  return Out(v);
}

template <bool Quantised, class In, class Out>
void affine(const In* x, int64_t n, const Affine& a, Out* y) {
  const float* scale = a.scale;
  const float* offset = a.offset;
  const int64_t period = a.period;
  int64_t i = 0;
  for (; i + period <= n; i += period)
    for (int64_t k = 0; k < period; ++k)
      y[i + k] = finish<Quantised, Out>(float(x[i + k]) * scale[k] + offset[k]);
  for (int64_t k = 0; i < n; ++i, ++k)
    y[i] = finish<Quantised, Out>(float(x[i]) * scale[k] + offset[k]);
}

inline float larger(float a, float b) { return a > b ? a : b; }
inline float smaller(float a, float b) { return a < b ? a : b; }

// HSV's saturation is (max - min) / max; at most 1, it may grow by max / (max - min).
void saturate(float* rgb, int64_t pixels, float factor) {
  for (int64_t i = 0; i < pixels; ++i) {
    float* p = rgb + 3 * i;
    float most = larger(larger(p[0], p[1]), p[2]), least = smaller(smaller(p[0], p[1]), p[2]);
    float range = most - least;
    float limit = most / (range > 0 ? range : 1.0F);
    float ratio = range > 0 ? smaller(factor, limit) : 1.0F;
    p[0] = most - (most - p[0]) * ratio;
    p[1] = most - (most - p[1]) * ratio;
    p[2] = most - (most - p[2]) * ratio;
  }
}

template <class In, class Sum>
void sum_columns(const In* x, int64_t n, int64_t period, Sum* __restrict sums) {
  int64_t i = 0;
  for (; i + period <= n; i += period)
    for (int64_t k = 0; k < period; ++k) sums[k] += Sum(x[i + k]);
  for (int64_t k = 0; i < n; ++i, ++k) sums[k] += Sum(x[i]);
}

}  // namespace

void add_values(Kernels& table) {
  table.affine_u8_u8 = affine<true, uint8_t, uint8_t>;
  table.affine_f32_u8 = affine<true, float, uint8_t>;
  table.affine_u8_f32[0] = affine<false, uint8_t, float>;
  table.affine_u8_f32[1] = affine<true, uint8_t, float>;
  table.affine_f32_f32[0] = affine<false, float, float>;
  table.affine_f32_f32[1] = affine<true, float, float>;
  table.saturate = saturate;
  table.sum_columns_u8 = sum_columns<uint8_t, uint32_t>;
  table.sum_columns_f32 = sum_columns<float, double>;
}

}  // namespace stoker::image::STOKER_ISA
