// The inner loops over pixels, compiled once per instruction set (every .cpp file of this folder),
// as a table of functions. All sets give the same bytes: integer arithmetic, or floating-point
// operations in one order without contraction.
#pragma once

#include <stdint.h>

#include "base/isa.h"

namespace stoker::image {

inline constexpr int kWeightBits = 14;  // weights of uint8 pixels sum to 1 << 14
// mix_columns_u8 reads so many bytes beyond the pixels of its line.
inline constexpr int64_t kLinePadding = 64;
// Coefficients of `affine` and the sums of `sum_columns` repeat with this many pixels.
inline constexpr int64_t kPeriodPixels = 16;

// Where each pixel of a resized line comes from. Flipped lines have their entries reversed.
struct ColumnTaps {
  int64_t outputs;
  const int32_t* first;  // [outputs]: first source pixel
  int64_t groups;        // of four taps, for each output
  // [outputs, groups, 16]: w0 w1 four times, then w2 w3 four times, as pmaddwd wants them
  const int16_t* weights;
};

struct FloatTaps {
  int64_t outputs;
  const int32_t* first;
  const int32_t* count;
  int64_t stride;  // weights between outputs
  const float* weights;
};

// y = x · scale[i % period] + offset[i % period]; quantised: cut to 0 … 255 and towards zero
struct Affine {
  const float* scale;
  const float* offset;
  int64_t period;
};

struct Kernels {
  const char* name;  // "generic", "avx2", "avx512"

  // out[i] = Σ weights[t] · rows[t · stride + i], rounded. Rows and out do not overlap.
  void (*mix_rows_u8)(const uint8_t* rows, int64_t stride, const int16_t* weights, int64_t taps,
                      int64_t values, uint8_t* out);
  void (*mix_columns_u8)(const uint8_t* line, const ColumnTaps& taps, int64_t channels,
                         uint8_t* out);
  void (*mix_rows_f32)(const float* rows, int64_t stride, const float* weights, int64_t taps,
                       int64_t values, float* out);
  void (*mix_columns_f32)(const float* line, const FloatTaps& taps, int64_t channels, float* out);

  // A line of pixels from its end to its beginning.
  void (*reverse_u8)(const uint8_t* line, int64_t pixels, int64_t channels, uint8_t* out);
  void (*reverse_f32)(const float* line, int64_t pixels, int64_t channels, float* out);

  void (*affine_u8_u8)(const uint8_t* x, int64_t n, const Affine& affine, uint8_t* y);  // quantised
  void (*affine_f32_u8)(const float* x, int64_t n, const Affine& affine, uint8_t* y);   // quantised
  // index: whether quantised. In place where x == y.
  void (*affine_u8_f32[2])(const uint8_t* x, int64_t n, const Affine& affine, float* y);
  void (*affine_f32_f32[2])(const float* x, int64_t n, const Affine& affine, float* y);
  // The distance of each RGB value to its pixel's largest, times `factor` or what brings the
  // smallest to 0. In place.
  void (*saturate)(float* rgb, int64_t pixels, float factor);

  // sums[i % period] += x[i]; period = kPeriodPixels · channels
  void (*sum_columns_u8)(const uint8_t* x, int64_t n, int64_t period, uint32_t* sums);
  void (*sum_columns_f32)(const float* x, int64_t n, int64_t period, double* sums);
};

// Of one instruction set: see base/isa_table.h.
void fill_table(Kernels& table, isa::generic);
void fill_table(Kernels& table, isa::avx2);
void fill_table(Kernels& table, isa::avx512);

}  // namespace stoker::image
