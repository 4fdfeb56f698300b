// The gradient of a dense layer's weights, c = aᵀ · b, on own kernels where oneDNN 2.6 is weak:
// with AVX2, when rows of a are a power of two apart. Two cores of a Zen 3, GFLOP/s, own against
// oneDNN: 512×512 from 1024 samples 168–173 and 121–123; at 784×512, which is left to oneDNN,
// 167–177 and 179–185.
#pragma once

#include "engine/cpu/builder.h"

namespace stoker::cpu {

struct Gemm {
  int64_t m, n, k;  // a: [k, m], b: [k, n] → c: [m, n]

  bool pays() const;
  int64_t scratch_floats(int workers) const;
  // Called outside of parallel regions; c overlaps neither a nor b.
  void run(const float* a, const float* b, float* c, float* scratch) const;

 private:
  void run_columns(int64_t begin, int64_t end, const float* a, const float* b, float* c,
                   float* scratch) const;
};

}  // namespace stoker::cpu
