// One step of an optimiser for a few elements: what the update of all parameters is made of, and
// what kernels do that make a gradient and update with it at once.
#pragma once

#include "engine/cuda/kernels/common.cuh"
#include "engine/cuda/kernels/update.h"

namespace stoker::cuda {

struct UpdateTerms {
  float lr, scale, rate;   // rate: adam's corrected learning rate
  float momentum, rest_1;  // rest_1: 1 − β₁
};

__device__ inline UpdateTerms update_terms(const UpdateOptions& c, int which) {
  UpdateTerms terms{c.lr != nullptr ? *c.lr : 0,
                    c.scales != nullptr ? c.scales[c.first_number + which] : 1, 0,
                    c.momentum_given ? c.lr[1] : c.momentum, float(1 - c.beta_1)};
  if (c.rule == UpdateRule::adam) {
    // 1 - βᵗ as -expm1(t log β), which keeps its digits in float32.
    auto t = float(*c.iterations + (c.counts_this ? 0 : 1));
    float log_beta_1 = c.momentum_given ? logf(terms.momentum) : c.log_beta_1;
    if (c.momentum_given) terms.rest_1 = 1 - terms.momentum;
    terms.rate = terms.lr * sqrtf(-expm1f(t * c.log_beta_2)) / -expm1f(t * log_beta_1);
  }
  return terms;
}

// p after one step; moments are changed in place.
__device__ inline float next_value(const UpdateOptions& c, const UpdateTerms& terms, float p,
                                   float g, float* moments) {
  if (c.rule == UpdateRule::moving_average) return p * c.momentum + g * (1 - c.momentum);
  p -= terms.lr * c.weight_decay * p;
  g *= terms.scale;
  if (c.clip_value > 0) g = g < -c.clip_value ? -c.clip_value : g > c.clip_value ? c.clip_value : g;
  if (c.rule == UpdateRule::sgd) {
    float step = -terms.lr * g;
    if (c.momentum > 0) {
      moments[0] = terms.momentum * moments[0] + step;
      step = c.nesterov ? terms.momentum * moments[0] + step : moments[0];
    }
    return p + step;
  }
  if (c.rule == UpdateRule::adam) {
    moments[0] += (g - moments[0]) * terms.rest_1;
    moments[1] += (g * g - moments[1]) * float(1 - c.beta_2);
    float v = moments[1];
    if (c.amsgrad) v = moments[2] = moments[2] <= v || v != v ? v : moments[2];
    return p - terms.rate * moments[0] / (sqrtf(v) + c.epsilon);
  }
  moments[0] = c.rho * moments[0] + (1 - c.rho) * g * g;
  float denominator = moments[0] + c.epsilon;
  float* momentum = moments + 1;
  if (c.centered) {
    moments[1] = c.rho * moments[1] + (1 - c.rho) * g;
    denominator -= moments[1] * moments[1];
    ++momentum;
  }
  float step = terms.lr * g / sqrtf(denominator);
  if (c.momentum > 0) *momentum = step += terms.momentum * *momentum;
  return p - step;
}

// What N elements from `at` on are made of.
template <int N>
struct UpdateElements {
  static constexpr int kMoments = UpdateItem::kMoments;
  float p[N], g[N], m[kMoments][N] = {};

  __device__ void load(const UpdateItem& item, int64_t at) {
    load_gradient(item, at);
    load_state(item, at);
  }
  __device__ void load_gradient(const UpdateItem& item, int64_t at) {
    if (item.gradient_dtype == DType::float32)
      load_gradient(item, static_cast<const float*>(item.g), at);
    else if (item.gradient_dtype == DType::float16)
      load_gradient(item, static_cast<const Half*>(item.g), at);
    else
      load_gradient(item, static_cast<const Bfloat*>(item.g), at);
  }
  template <class T>
  __device__ void load_gradient(const UpdateItem& item, const T* from, int64_t at) {
    if (item.filters == 0) return load_floats<N>(from + at, g);
    unsigned row = unsigned(at) / item.filters, filter = unsigned(at) - row * item.filters;
    unsigned pixel = row / item.channels, channel = row - pixel * item.channels;
    from += (filter * item.pixels + pixel) * item.padded + channel;
#pragma unroll
    for (int i = 0; i < N; ++i) g[i] = to_float(from[unsigned(i) * item.pixels * item.padded]);
  }
  // All but the gradient.
  __device__ void load_state(const UpdateItem& item, int64_t at) {
    load_floats<N>(static_cast<const float*>(item.p) + at, p);
#pragma unroll
    for (int k = 0; k < kMoments; ++k)
      if (item.moments[k] != nullptr)
        load_floats<N>(static_cast<const float*>(item.moments[k]) + at, m[k]);
  }
  __device__ void update(const UpdateOptions& c, const UpdateTerms& terms) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float moments[kMoments] = {m[0][i], m[1][i], m[2][i]};
      p[i] = next_value(c, terms, p[i], g[i], moments);
#pragma unroll
      for (int k = 0; k < kMoments; ++k) m[k][i] = moments[k];
    }
  }
  __device__ void store(const UpdateItem& item, int64_t at) const {
    store_floats<N>(p, static_cast<float*>(item.out) + at);
#pragma unroll
    for (int k = 0; k < kMoments; ++k)
      if (item.moments[k] != nullptr)
        store_floats<N>(m[k], static_cast<float*>(item.moment_outs[k]) + at);
  }
};

// An element whose gradient is on its way: begin() reads what is needed besides, end() takes the
// step, or writes the gradient where nothing is to be updated.
struct ElementUpdate {
  UpdateElements<1> state;
  UpdateTerms terms;
  int enabled;

  __device__ void begin(const FewUpdates& c, int which, int64_t at) {
    if (c.count == 0) return;
    state.load_state(c.item[which], at);
    enabled = c.enabled != nullptr ? *c.enabled : 1;
    terms = update_terms(c, which);
  }
  template <class T>
  __device__ void end(const FewUpdates& c, int which, int64_t at, float gradient, T* out) {
    if (c.count == 0) {
      out[at] = from_float<T>(gradient);
    } else if (enabled != 0) {
      state.g[0] = to_float(from_float<T>(gradient));  // as it would have been written
      state.update(c, terms);
      state.store(c.item[which], at);
    }
  }
};

}  // namespace stoker::cuda
