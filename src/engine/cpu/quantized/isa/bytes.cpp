#include "engine/cpu/quantized/isa/kernels.h"

namespace stoker::cpu::quantized::STOKER_ISA {

namespace {

#define STOKER_STEP [[gnu::always_inline]] inline

// Nearest, halves to even, of a number in [0, 255].
STOKER_STEP uint8_t rounded(float value) {
  constexpr float kRound = 0x1.8p23F;
  return uint8_t(int32_t((value + kRound) - kRound));
}

STOKER_STEP uint8_t stored(float value, const Storage& to) {
  float shifted = value + to.zero_point;
  shifted = shifted > to.low ? shifted : to.low;
  shifted = shifted < to.high ? shifted : to.high;
  return rounded(shifted);
}

void quantize(const float* x, uint8_t* y, int64_t n, float scale, float zero_point) {
  const Storage to{false, zero_point, 0, 255};
  for (int64_t i = 0; i < n; ++i) y[i] = stored(x[i] / scale, to);
}

void dequantize(const uint8_t* x, float* y, int64_t n, float scale, int32_t zero_point) {
  for (int64_t i = 0; i < n; ++i) y[i] = float(int32_t(x[i]) - zero_point) * scale;
}

STOKER_STEP float sum_of(const uint8_t* a, const uint8_t* b, int64_t i, const AddTerms& terms) {
  return float(int32_t(a[i]) - terms.a_zero) * terms.a_factor +
         float(int32_t(b[i]) - terms.b_zero) * terms.b_factor;
}

void add(const uint8_t* __restrict a, const uint8_t* __restrict b, void* y, int64_t n,
         const AddTerms& given, const Storage& target) {
  const AddTerms terms = given;
  const Storage to = target;
  if (to.floats) {
    float* __restrict out = static_cast<float*>(y);
    for (int64_t i = 0; i < n; ++i) out[i] = sum_of(a, b, i, terms);
    return;
  }
  uint8_t* __restrict out = static_cast<uint8_t*>(y);
  for (int64_t i = 0; i < n; ++i) out[i] = stored(sum_of(a, b, i, terms), to);
}

STOKER_STEP float product_of(const uint8_t* a, const uint8_t* b, int64_t i,
                             const ProductTerms& terms) {
  return float((int32_t(a[i]) - terms.a_zero) * (int32_t(b[i]) - terms.b_zero)) * terms.factor;
}

void multiply(const uint8_t* __restrict a, const uint8_t* __restrict b, void* y, int64_t n,
              const ProductTerms& given, const Storage& target) {
  const ProductTerms terms = given;
  const Storage to = target;
  if (to.floats) {
    float* __restrict out = static_cast<float*>(y);
    for (int64_t i = 0; i < n; ++i) out[i] = product_of(a, b, i, terms);
    return;
  }
  uint8_t* __restrict out = static_cast<uint8_t*>(y);
  for (int64_t i = 0; i < n; ++i) out[i] = stored(product_of(a, b, i, terms), to);
}

void maximum(const uint8_t* __restrict x, uint8_t* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
}

void sum(const uint8_t* __restrict x, int32_t* __restrict sums, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sums[i] += x[i];
}

void finish_mean(const int32_t* __restrict sums, void* y, int64_t n, int32_t shift, float factor,
                 const Storage& target) {
  const Storage to = target;
  if (to.floats) {
    float* __restrict out = static_cast<float*>(y);
    for (int64_t i = 0; i < n; ++i) out[i] = float(sums[i] - shift) * factor;
    return;
  }
  uint8_t* __restrict out = static_cast<uint8_t*>(y);
  for (int64_t i = 0; i < n; ++i) out[i] = stored(float(sums[i] - shift) * factor, to);
}

}  // namespace

}  // namespace stoker::cpu::quantized::STOKER_ISA

namespace stoker::cpu::quantized {

void fill_table(Kernels& table, isa::STOKER_ISA) {
  using namespace STOKER_ISA;
  table = {quantize, dequantize, add, multiply, maximum, sum, finish_mean};
}

}  // namespace stoker::cpu::quantized
