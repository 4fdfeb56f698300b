// Layer norm on rows [rows, n].
#include "base/ivdep.h"
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

void layer_norm(const float* x, const float* gamma, const float* beta, float* y, float* mean,
                float* rstd, int64_t rows, int64_t n, float epsilon) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    float m = sum / float(n);
    for (int64_t i = 0; i < n; ++i) squares += (x[i] - m) * (x[i] - m);
    float r = 1 / sqrt(squares / float(n) + epsilon);
    for (int64_t i = 0; i < n; ++i) y[i] = fma((x[i] - m) * r, gamma[i], beta[i]);
    mean[row] = m;
    rstd[row] = r;
  }
}

// With g = dy · gamma and h = (x - mean) · rstd: dx = rstd · (g - mean(g) - h · mean(g · h)).
void layer_norm_grad(const float* dy, const float* x, const float* gamma, const float* mean,
                     const float* rstd, float* dx, float* dgamma, float* dbeta, int64_t rows,
                     int64_t n) {
  for (int64_t row = 0; row < rows; ++row, dy += n, x += n, dx += n) {
    float m = mean[row], r = rstd[row], sum = 0, product = 0;
    for (int64_t i = 0; i < n; ++i) {
      float g = dy[i] * gamma[i];
      sum += g;
      product += g * (x[i] - m);
    }
    float a = sum / float(n), b = product * r * r / float(n);
    STOKER_IVDEP
    for (int64_t i = 0; i < n; ++i) {
      float d = dy[i], centred = x[i] - m;
      dgamma[i] += d * centred * r;
      dbeta[i] += d;
      dx[i] = r * (d * gamma[i] - a - centred * b);
    }
  }
}

}  // namespace

void add_layer_norm(KernelTable& table) {
  table.layer_norm = layer_norm;
  table.layer_norm_grad = layer_norm_grad;
}

}  // namespace stoker::cpu::STOKER_ISA
