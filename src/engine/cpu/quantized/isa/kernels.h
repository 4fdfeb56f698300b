// Vector kernels on numbers in eight bits, as a table of functions, one per instruction set. Their
// floats are rounded step by step (no contraction, no reassociation), so that all sets, the
// reference and the GPU store the same integers: graph/ops/quantized.h has the steps.
#pragma once

#include <stdint.h>

#include "base/isa.h"

namespace stoker::cpu::quantized {

// Where a result goes: as quantized::Target, without its scale.
struct Storage {
  bool floats;
  float zero_point, low, high;
};

struct AddTerms {
  int32_t a_zero, b_zero;
  float a_factor, b_factor;
};

struct ProductTerms {
  int32_t a_zero, b_zero;
  float factor;
};

struct Kernels {
  void (*quantize)(const float* x, uint8_t* y, int64_t n, float scale, float zero_point);
  void (*dequantize)(const uint8_t* x, float* y, int64_t n, float scale, int32_t zero_point);
  // y: uint8 or float, as `to` says; n elements.
  void (*add)(const uint8_t* a, const uint8_t* b, void* y, int64_t n, const AddTerms& terms,
              const Storage& to);
  void (*multiply)(const uint8_t* a, const uint8_t* b, void* y, int64_t n,
                   const ProductTerms& terms, const Storage& to);
  void (*maximum)(const uint8_t* x, uint8_t* y, int64_t n);  // y = max(x, y)
  void (*sum)(const uint8_t* x, int32_t* sums, int64_t n);   // added to
  // y = (sums − shift) · factor
  void (*finish_mean)(const int32_t* sums, void* y, int64_t n, int32_t shift, float factor,
                      const Storage& to);
};

// Of one instruction set: see base/isa_table.h.
void fill_table(Kernels& table, isa::generic);
void fill_table(Kernels& table, isa::avx2);
void fill_table(Kernels& table, isa::avx512);

// Of this host.
const Kernels& kernels();

}  // namespace stoker::cpu::quantized
