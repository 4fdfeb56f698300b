// The inner loops of initialisers, compiled once per instruction set (every .cpp file of this
// folder), as a table of functions. All sets give the bits of stoker::Rng, drawn one by one.
#pragma once

#include <stdint.h>

#include "base/isa.h"

namespace stoker::draw {

struct Kernels {
  // The n numbers in [0, 1) of the sequence (seed, stream) from its word 4 · block on.
  void (*uniforms)(uint64_t seed, uint64_t stream, uint64_t block, int64_t n, float* out);
  // The n normal numbers that its words make, two each, from word 4 · block on.
  void (*normals)(uint64_t seed, uint64_t stream, uint64_t block, int64_t n, float* out);
  // values[i] = mean + stddev · values[i], in double.
  void (*scale)(float* values, int64_t n, double mean, double stddev);

  // Σ a[i] · b[i], in eight sums side by side.
  double (*dot)(const double* a, const double* b, int64_t n);
  void (*subtract)(double* from, const double* what, double factor, int64_t n);
};

// Of one instruction set: see base/isa_table.h.
void fill_table(Kernels& table, isa::generic);
void fill_table(Kernels& table, isa::avx2);
void fill_table(Kernels& table, isa::avx512);

// Of this host.
const Kernels& kernels();

}  // namespace stoker::draw
