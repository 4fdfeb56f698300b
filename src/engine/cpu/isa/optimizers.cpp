// The update rules of docs/reference/ops.md on a stretch of one parameter.
#include "base/ivdep.h"
#include "engine/cpu/isa/families.h"
#include "engine/cpu/isa/math.h"

namespace stoker::cpu::STOKER_ISA {

namespace {

STOKER_INLINE float gradient(float g, const UpdateCommon& common) {
  g *= common.scale;
  return common.clip_value > 0 ? clip(g, -common.clip_value, common.clip_value) : g;
}
STOKER_INLINE float decayed(float p, const UpdateCommon& common) {
  return fma(-common.lr * common.weight_decay, p, p);
}

void sgd(float* p, const float* g, float* m, int64_t n, const UpdateCommon& shared, float momentum,
         bool nesterov) {
  const UpdateCommon common = shared;
  if (m == nullptr) {
    STOKER_IVDEP
    for (int64_t i = 0; i < n; ++i)
      p[i] = fma(-common.lr, gradient(g[i], common), decayed(p[i], common));
    return;
  }
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    float step = -common.lr * gradient(g[i], common);
    float moved = fma(momentum, m[i], step);
    m[i] = moved;
    p[i] = decayed(p[i], common) + (nesterov ? fma(momentum, moved, step) : moved);
  }
}

template <bool kAmsgrad>
void adam_of(float* p, const float* g, float* m, float* v, float* vhat, int64_t n,
             const UpdateCommon& shared, float rate, float rest_1, float rest_2, float epsilon) {
  const UpdateCommon common = shared;
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    float d = gradient(g[i], common);
    float first = fma(d - m[i], rest_1, m[i]);
    float second = fma(fma(d, d, -v[i]), rest_2, v[i]);
    m[i] = first;
    v[i] = second;
    if (kAmsgrad) vhat[i] = second = ((vhat[i] <= second) | (second != second)) ? second : vhat[i];
    p[i] = decayed(p[i], common) - rate * first / (sqrt(second) + epsilon);
  }
}

void adam(float* p, const float* g, float* m, float* v, float* vhat, int64_t n,
          const UpdateCommon& common, float rate, float rest_1, float rest_2, float epsilon) {
  if (vhat != nullptr)
    adam_of<true>(p, g, m, v, vhat, n, common, rate, rest_1, rest_2, epsilon);
  else
    adam_of<false>(p, g, m, v, vhat, n, common, rate, rest_1, rest_2, epsilon);
}

template <bool kCentered, bool kMomentum>
void rmsprop_of(float* p, const float* g, float* v, float* mean, float* moved, int64_t n,
                const UpdateCommon& shared, float rho, float rest, float momentum, float epsilon) {
  const UpdateCommon common = shared;
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    float d = gradient(g[i], common);
    float second = fma(rho, v[i], rest * d * d);
    v[i] = second;
    float denominator = second + epsilon;
    if (kCentered) {
      float first = fma(rho, mean[i], rest * d);
      mean[i] = first;
      denominator = fma(-first, first, denominator);
    }
    float step = common.lr * d / sqrt(denominator);
    if (kMomentum) moved[i] = step = fma(momentum, moved[i], step);
    p[i] = decayed(p[i], common) - step;
  }
}

void rmsprop(float* p, const float* g, float* v, float* mean, float* moved, int64_t n,
             const UpdateCommon& common, float rho, float rest, float momentum, float epsilon) {
  auto* update = mean != nullptr
                     ? (moved != nullptr ? rmsprop_of<true, true> : rmsprop_of<true, false>)
                     : (moved != nullptr ? rmsprop_of<false, true> : rmsprop_of<false, false>);
  update(p, g, v, mean, moved, n, common, rho, rest, momentum, epsilon);
}

}  // namespace

void add_optimizers(KernelTable& table) {
  table.sgd = sgd;
  table.adam = adam;
  table.rmsprop = rmsprop;
}

}  // namespace stoker::cpu::STOKER_ISA
