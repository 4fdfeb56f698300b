// Batch norm's arithmetic for the N channels of a thread. Forward, mask and gradient go through the
// same expressions, so that all agree on where relu let something through.
#pragma once

#include "engine/cuda/kernels/batch_norm.h"
#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

// N floats of a table by channel, which repeats every `period` channels; 0: it does not.
template <int N>
__device__ inline void load_channels(const float* table, int64_t channel, int period,
                                     float (&to)[N]) {
  if (period > 0) {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = table[(int(channel) + i) % period];
    return;
  }
  constexpr int kWide = N % 4 == 0 ? 4 : 1;
#pragma unroll
  for (int i = 0; i < N; i += kWide) load_floats<kWide>(table + channel + i, to + i);
}

template <int N>
__device__ inline void load_rstd(const NormTerms& norm, int64_t channel, float (&rstd)[N]) {
  load_channels(norm.variance, channel, norm.period, rstd);
#pragma unroll
  for (int i = 0; i < N; ++i) rstd[i] = rsqrtf(rstd[i] + norm.epsilon);
}

// What is far from zero loses digits when its mean is taken off last. Float32 has digits to lose:
// there it comes first. Sixteen bits have not, and save a register per channel.
template <class T>
inline constexpr bool kMeanFirst = sizeof(T) == 4;

// y = (x - mean) · gamma · rstd + beta
template <class T, int N>
struct NormValue {
  float scale[N], shift[N], mean[kMeanFirst<T> ? N : 1];

  __device__ void load(const NormTerms& norm, int64_t channel) {
    float gamma[N], means[N];
    load_rstd(norm, channel, scale);
    load_channels(norm.gamma, channel, norm.period, gamma);
    load_channels(norm.mean, channel, norm.period, means);
    load_channels(norm.beta, channel, norm.period, shift);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      scale[i] *= gamma[i];
      if constexpr (kMeanFirst<T>)
        mean[i] = means[i];
      else
        shift[i] -= means[i] * scale[i];
    }
  }
  __device__ float of(int i, float x) const {
    if constexpr (kMeanFirst<T>) return (x - mean[i]) * scale[i] + shift[i];
    return x * scale[i] + shift[i];
  }
};

// dx = gamma · rstd · (dy - mean of dy - (x - mean) · rstd · mean of dy · normalised x)
template <class T, int N>
struct NormSlope {
  float of_dy[N], of_x[N], rest[N], mean[kMeanFirst<T> ? N : 1];

  __device__ NormSlope(const NormTerms& norm, const float* dgamma, const float* dbeta,
                       int64_t channel, int64_t rows) {
    float rstd[N], means[N];
    const float share = 1 / float(rows);
    load_rstd(norm, channel, rstd);
    load_channels(norm.gamma, channel, norm.period, of_dy);
    load_channels(norm.mean, channel, norm.period, means);
    load_channels(dgamma, channel, norm.period, of_x);
    load_channels(dbeta, channel, norm.period, rest);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      of_dy[i] *= rstd[i];
      of_x[i] *= -of_dy[i] * rstd[i] * share;
      rest[i] *= -of_dy[i] * share;
      if constexpr (kMeanFirst<T>)
        mean[i] = means[i];
      else
        rest[i] -= of_x[i] * means[i];
    }
  }
  __device__ float of(int i, float x, float dy) const {
    if constexpr (kMeanFirst<T>) x -= mean[i];
    return of_dy[i] * dy + (of_x[i] * x + rest[i]);
  }
};

}  // namespace stoker::cuda
