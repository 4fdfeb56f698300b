// The stem: convolution on few channels, bias, ReLU, 2×2 max-pooling, and the gradient of its
// weights. As four ops these move the unpooled image five times, and oneDNN pads the channels to a
// block.
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/vector.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

// Filters of one step, in vectors, so that all sums stay in registers: 32 of them with AVX-512,
// else 16.
constexpr int kWide = kLanes == 16 ? 4 : 2, kGradWide = kLanes == 16 ? 2 : 1;
constexpr int kTapGroup = 9;

// Small numbers as bytes; GCC 12's __builtin_convertvector goes through scalars, and its unmasked
// intrinsics for these warn of an uninitialised operand.
#ifdef __AVX512F__
constexpr __mmask16 kAll = 0xffff;
#endif
STOKER_INLINE Integers load_bytes(const uint8_t* from) {
#if defined(__AVX512F__)
  return Integers(_mm512_maskz_cvtepu8_epi32(kAll, load<__m128i>(from)));
#elif defined(__AVX2__)
  return Integers(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  return __builtin_convertvector(load<Bytes>(from), Integers);
#endif
}
STOKER_INLINE void store_bytes(uint8_t* to, Integers v) {
#if defined(__AVX512F__)
  store(to, _mm512_maskz_cvtepi32_epi8(kAll, __m512i(v)));
#elif defined(__AVX2__)
  __m128i low = _mm256_castsi256_si128(__m256i(v)), high = _mm256_extracti128_si256(__m256i(v), 1);
  __m128i words = _mm_packus_epi32(low, high);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
#else
  store(to, __builtin_convertvector(v, Bytes));
#endif
}

// Four neighbouring convolved pixels, in row-major order.
struct Corners {
  const float* at[4];
};
STOKER_INLINE Corners corners(const float* x, const StemGeometry& g, int64_t row, int64_t column) {
  const float* first = x + 2 * (row * g.line + column * g.step);
  return {{first, first + g.step, first + g.line, first + g.line + g.step}};
}

// kVectors vectors of filters, from the first one of w, bias, y and winner on.
template <int kVectors>
void stem_filters(const float* x, const float* w, const float* bias, float* y, uint8_t* winner,
                  const StemGeometry& g) {
  for (int64_t row = 0; row < g.rows; ++row)
    for (int64_t column = 0; column < g.columns; ++column) {
      Corners c = corners(x, g, row, column);
      Vector sum[4][kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Vector start = load<Vector>(bias + v * kLanes);
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) sum[k][v] = start;
      }
      for (int64_t t = 0; t < g.taps; ++t) {
        const float* weights = w + t * g.filters;
        float a[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) a[k] = c.at[k][g.offsets[t]];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          Vector weight = load<Vector>(weights + v * kLanes);
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k) sum[k][v] = multiply_add(weight, Vector{} + a[k], sum[k][v]);
        }
      }
      int64_t pixel = row * g.columns + column;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Vector most = sum[0][v];
        Integers which = {};
#pragma GCC unroll 4
        for (int k = 1; k < 4; ++k) {
          Integers larger = sum[k][v] > most;
          most = larger ? sum[k][v] : most;
          which = larger ? Integers{} + k : which;
        }
        which = most > 0 ? which : Integers{} + int32_t(KernelTable::kNobody);
        most = most < 0 ? Vector{} : most;
        store(y + pixel * g.y_pixel + v * g.y_vector,
              keep_nan(most, sum[0][v], sum[1][v], sum[2][v], sum[3][v]));
        store_bytes(winner + pixel * g.filters + v * kLanes, which);
      }
    }
}

void stem(const float* x, const float* w, const float* bias, float* y, uint8_t* winner,
          const StemGeometry& g) {
  int64_t vectors = g.filters / kLanes, v = 0;
  auto some = [&](auto* filters) {
    filters(x, w + v * kLanes, bias + v * kLanes, y + v * g.y_vector, winner + v * kLanes, g);
  };
  for (; v + kWide <= vectors; v += kWide) some(stem_filters<kWide>);
  for (; v + 2 <= vectors; v += 2) some(stem_filters<2>);
  for (; v < vectors; ++v) some(stem_filters<1>);
}

// Taps `first` to `first` + kTaps - 1 of kVectors vectors of filters. Each pooled gradient goes to
// the corner that won.
template <int kTaps, int kVectors>
void stem_grad_taps(const float* x, const float* dy, const uint8_t* winner, float* dw,
                    const StemGeometry& g, int64_t first) {
  Vector sum[kTaps][kVectors] = {};
  int64_t offsets[kTaps];
  for (int t = 0; t < kTaps; ++t) offsets[t] = g.offsets[first + t];
  for (int64_t row = 0; row < g.rows; ++row)
    for (int64_t column = 0; column < g.columns; ++column) {
      Corners c = corners(x, g, row, column);
      int64_t pixel = row * g.columns + column;
      Vector d[4][kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Vector all = load<Vector>(dy + pixel * g.y_pixel + v * g.y_vector);
        Integers which = load_bytes(winner + pixel * g.filters + v * kLanes);
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) d[k][v] = which == k ? all : Vector{};
      }
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k)
#pragma GCC unroll 9
        for (int t = 0; t < kTaps; ++t) {
          Vector a = Vector{} + c.at[k][offsets[t]];
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) sum[t][v] = multiply_add(d[k][v], a, sum[t][v]);
        }
    }
#pragma GCC unroll 9
  for (int t = 0; t < kTaps; ++t)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* to = dw + (first + t) * g.filters + v * kLanes;
      store(to, load<Vector>(to) + sum[t][v]);
    }
}

template <int kVectors>
void stem_grad_filters(const float* x, const float* dy, const uint8_t* winner, float* dw,
                       const StemGeometry& g) {
  int64_t t = 0;
  for (; t + kTapGroup <= g.taps; t += kTapGroup)
    stem_grad_taps<kTapGroup, kVectors>(x, dy, winner, dw, g, t);
  for (; t + 3 <= g.taps; t += 3) stem_grad_taps<3, kVectors>(x, dy, winner, dw, g, t);
  for (; t < g.taps; ++t) stem_grad_taps<1, kVectors>(x, dy, winner, dw, g, t);
}

void stem_bias_grad(const float* dy, const uint8_t* winner, float* db, const StemGeometry& g) {
  for (int64_t v = 0; v < g.filters / kLanes; ++v) {
    Vector sum = load<Vector>(db + v * kLanes);
    for (int64_t pixel = 0; pixel < g.rows * g.columns; ++pixel) {
      Integers which = load_bytes(winner + pixel * g.filters + v * kLanes);
      Vector d = load<Vector>(dy + pixel * g.y_pixel + v * g.y_vector);
      sum += which == int32_t(KernelTable::kNobody) ? Vector{} : d;
    }
    store(db + v * kLanes, sum);
  }
}

void stem_grad(const float* x, const float* dy, const uint8_t* winner, float* dw, float* db,
               const StemGeometry& g) {
  int64_t vectors = g.filters / kLanes, v = 0;
  auto some = [&](auto* filters) {
    filters(x, dy + v * g.y_vector, winner + v * kLanes, dw + v * kLanes, g);
  };
  for (; v + kGradWide <= vectors; v += kGradWide) some(stem_grad_filters<kGradWide>);
  for (; v < vectors; ++v) some(stem_grad_filters<1>);
  stem_bias_grad(dy, winner, db, g);
}

}  // namespace

void add_stem(KernelTable& table) {
  table.lanes = kLanes;
  table.stem = stem;
  table.stem_grad = stem_grad;
}

}  // namespace stoker::cpu::STOKER_ISA
