#include "engine/cuda/kernels/batch_norm.h"

#include "engine/cuda/kernels/norm_math.cuh"
#include "engine/cuda/kernels/rows.cuh"

namespace stoker::cuda {

namespace {

constexpr int kBlocks = 3;  // of a multiprocessor, at least

// Runs load and use for the rows of a thread, Count at a time. The last rows come first: they are
// what the kernel before left in the cache.
template <int Count, class Load, class Use>
__device__ inline void for_rows(int64_t rows, int64_t channels, int columns, int64_t channel,
                                Load load, Use use) {
  const int height = kBlock / columns;
  const int64_t step = int64_t(gridDim.y) * height, stride = step * channels;
  int64_t row = rows - 1 - (int64_t(blockIdx.y) * height + threadIdx.x / unsigned(columns));
  int64_t at = row * channels + channel;
  for (; row >= 0; row -= step * Count, at -= stride * Count) {
#pragma unroll
    for (int u = 0; u < Count; ++u) load(u, at - u * stride, row - u * step >= 0);
#pragma unroll
    for (int u = 0; u < Count; ++u)
      if (row - u * step >= 0) use(u, at - u * stride);
  }
}

enum class Residual : uint8_t { none, plain, normed };

template <class T, int N, Residual Added>
__global__ void __launch_bounds__(kBlock, kBlocks)
    norm_apply(const __grid_constant__ NormApply c, int columns) {
  constexpr bool kNormed = Added == Residual::normed;
  constexpr int kRows = kNormed ? 3 : 4;  // in flight
  const int64_t channel = first_channel<N>(columns);
  if (channel >= c.channels) return;
  const T *x = static_cast<const T*>(c.x), *residual = static_cast<const T*>(c.residual);
  T* y = static_cast<T*>(c.y);
  NormValue<T, N> norm, other_norm;
  norm.load(c.norm, channel);
  if constexpr (kNormed) other_norm.load(c.residual_norm, channel);
  Raw<T, N> values[kRows], others[kRows];
  for_rows<kRows>(
      c.rows, c.channels, columns, channel,
      [&](int u, int64_t at, bool there) {
        load_raw<T, N>(x + at, there, values[u]);
        if constexpr (Added != Residual::none) load_raw<T, N>(residual + at, there, others[u]);
      },
      [&](int u, int64_t at) {
        Pack<T, N> value_pack = unpack<T, N>(values[u]), other{};
        if constexpr (Added != Residual::none) other = unpack<T, N>(others[u]);
        float results[N];
        unsigned bits = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
          float value = norm.of(i, to_float(value_pack.at[i]));
          if constexpr (Added == Residual::plain) value += to_float(other.at[i]);
          if constexpr (kNormed) value += other_norm.of(i, to_float(other.at[i]));
          if (value > 0) bits |= 1U << i;
          results[i] = c.relu && value < 0 ? 0 : value;
        }
        store_floats<N>(results, y + at);
        if (Added != Residual::none && c.bits != nullptr) c.bits[at / N] = uint8_t(bits);
      });
}

template <class T, int N, ReluMask Mask>
__global__ void __launch_bounds__(kBlock, kBlocks)
    norm_input_grad(const __grid_constant__ NormInputGrad c, int columns) {
  constexpr int kRows = Mask == ReluMask::none ? 4 : 3;  // in flight
  const int64_t channel = first_channel<N>(columns);
  if (channel >= c.channels) return;
  const T *x = static_cast<const T*>(c.branch.x), *dy = static_cast<const T*>(c.dy),
          *y = static_cast<const T*>(c.y);
  T* dx = static_cast<T*>(c.branch.dx);
  NormSlope<T, N> slope_of(c.branch.norm, c.branch.dgamma, c.branch.dbeta, channel, c.samples);
  NormValue<T, N> norm;
  if constexpr (Mask == ReluMask::from_x) norm.load(c.branch.norm, channel);
  Raw<T, N> values[kRows], slopes[kRows], outputs[kRows];
  for_rows<kRows>(
      c.rows, c.channels, columns, channel,
      [&](int u, int64_t at, bool there) {
        load_raw<T, N>(x + at, there, values[u]);
        load_raw<T, N>(dy + at, there, slopes[u]);
        if constexpr (Mask == ReluMask::from_y) load_raw<T, N>(y + at, there, outputs[u]);
      },
      [&](int u, int64_t at) {
        Pack<T, N> values_pack = unpack<T, N>(values[u]), slope_pack = unpack<T, N>(slopes[u]);
        Pack<T, N> output{};
        if constexpr (Mask == ReluMask::from_y) output = unpack<T, N>(outputs[u]);
        float results[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
          float slope = to_float(slope_pack.at[i]), value = to_float(values_pack.at[i]);
          if (Mask == ReluMask::from_y && !(to_float(output.at[i]) > 0)) slope = 0;
          if (Mask == ReluMask::from_x && !(norm.of(i, value) > 0)) slope = 0;
          results[i] = slope_of.of(i, value, slope);
        }
        store_floats<N>(results, dx + at);
      });
}

// Two batch norms whose results were added: the same dy for both.
template <class T, int N>
__global__ void __launch_bounds__(kBlock, 2)
    norm_input_grad_pair(const __grid_constant__ NormInputGrad c, int columns) {
  constexpr int kPairs = 2;  // in flight
  const int64_t channel = first_channel<N>(columns);
  if (channel >= c.channels) return;
  NormSlope<T, N> first(c.branch.norm, c.branch.dgamma, c.branch.dbeta, channel, c.samples);
  NormSlope<T, N> second(c.other.norm, c.other.dgamma, c.other.dbeta, channel, c.samples);
  Raw<T, N> values[kPairs], others[kPairs], slopes[kPairs];
  auto write = [&](const NormSlope<T, N>& slope_of, const Raw<T, N>& raw, const Pack<T, N>& slope,
                   void* to, int64_t at) {
    Pack<T, N> x = unpack<T, N>(raw);
    float results[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
      results[i] = slope_of.of(i, to_float(x.at[i]), to_float(slope.at[i]));
    store_floats<N>(results, static_cast<T*>(to) + at);
  };
  for_rows<kPairs>(
      c.rows, c.channels, columns, channel,
      [&](int u, int64_t at, bool there) {
        load_raw<T, N>(static_cast<const T*>(c.dy) + at, there, slopes[u]);
        load_raw<T, N>(static_cast<const T*>(c.branch.x) + at, there, values[u]);
        load_raw<T, N>(static_cast<const T*>(c.other.x) + at, there, others[u]);
      },
      [&](int u, int64_t at) {
        Pack<T, N> slope = unpack<T, N>(slopes[u]);
        write(first, values[u], slope, c.branch.dx, at);
        write(second, others[u], slope, c.other.dx, at);
      });
}

}  // namespace

namespace {

// Several rows as one, where that makes vectors of them.
template <class Call>
void fold_rows(Call& call, std::initializer_list<NormTerms*> terms) {
  const int64_t fold = fold_of(call.dtype, call.rows, call.channels);
  if (fold == 1) return;
  for (NormTerms* each : terms) each->period = int(call.channels);
  call.rows /= fold;
  call.channels *= fold;
}

}  // namespace

void run_norm_apply(const NormApply& given, cudaStream_t stream) {
  NormApply call = given;
  fold_rows(call, {&call.norm, &call.residual_norm});
  with_lanes(call.dtype, call.channels, [&]<class T, class N>(T, N) {
    constexpr int kN = N::value;
    auto kernel = call.residual == nullptr             ? norm_apply<T, kN, Residual::none>
                  : call.residual_norm.mean == nullptr ? norm_apply<T, kN, Residual::plain>
                                                       : norm_apply<T, kN, Residual::normed>;
    launch_rows(kernel, call, call.rows, call.channels, kN, stream);
  });
  check_launch("norm_apply");
}

void run_norm_input_grad(const NormInputGrad& given, cudaStream_t stream) {
  NormInputGrad call = given;
  call.samples = call.rows;
  fold_rows(call, {&call.branch.norm, &call.other.norm});
  with_lanes(call.dtype, call.channels, [&]<class T, class N>(T, N) {
    constexpr int kN = N::value;
    auto kernel = call.other.x != nullptr         ? norm_input_grad_pair<T, kN>
                  : call.mask == ReluMask::from_x ? norm_input_grad<T, kN, ReluMask::from_x>
                  : call.mask == ReluMask::from_y ? norm_input_grad<T, kN, ReluMask::from_y>
                                                  : norm_input_grad<T, kN, ReluMask::none>;
    launch_rows(kernel, call, call.rows, call.channels, kN, stream);
  });
  check_launch("norm_input_grad");
}

}  // namespace stoker::cuda
