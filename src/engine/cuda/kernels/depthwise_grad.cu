// The weight gradient of a depthwise convolution: a thread sums all taps of its two channels over
// strips of the images, a block adds up its threads, a last kernel the blocks, in a fixed order.
#include "engine/cuda/kernels/depthwise.cuh"
#include "engine/cuda/kernels/depthwise.h"

namespace stoker::cuda {

namespace {

constexpr int kStripWarps = kStripThreads / 32;

struct WeightStrips : DirectConv {
  Strips strips;
  int splits = 1;  // blocks of a slab
};

// Adds a pair over the block's strips; the result is whole in the first warp's first `lanes`
// threads. `half`: memory for the sums of half of the warps.
template <int Taps>
__device__ void add_strips(float2 (&sums)[Taps], int lanes, float2 (*half)[Taps][32]) {
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
#pragma unroll
  for (int tap = 0; tap < Taps; ++tap)
    for (int offset = 16; offset >= lanes; offset /= 2) {
      sums[tap].x += __shfl_down_sync(~0U, sums[tap].x, unsigned(offset));
      sums[tap].y += __shfl_down_sync(~0U, sums[tap].y, unsigned(offset));
    }
#pragma unroll
  for (int others = kStripWarps / 2; others > 0; others /= 2) {
    __syncthreads();
    if (warp >= others && warp < 2 * others)
#pragma unroll
      for (int tap = 0; tap < Taps; ++tap) half[warp - others][tap][lane] = sums[tap];
    __syncthreads();
    if (warp < others)
#pragma unroll
      for (int tap = 0; tap < Taps; ++tap) {
        sums[tap].x += half[warp][tap][lane].x;
        sums[tap].y += half[warp][tap][lane].y;
      }
  }
}

// Tile: columns of dy. Ahead: steps that are on their way from memory.
template <class T, int K, int S, int Tile, int Ahead, int Blocks>
__global__ void __launch_bounds__(kStripThreads, Blocks)
    depthwise_weight_grad(const __grid_constant__ WeightStrips c) {
  constexpr int kAges = ages_of(K, S), kWide = Tile * S + K - S, kTaps = K * K + 1;
  __shared__ float2 half[kStripWarps / 2][kTaps][32];
  const ConvShape& s = c.shape;
  const Strips& strips = c.strips;
  const int lane = int(threadIdx.x % unsigned(strips.lanes));
  const int slab = int(blockIdx.x % unsigned(strips.slabs));
  const int split = int(blockIdx.x / unsigned(strips.slabs));
  const int channel = (slab * strips.lanes + lane) * 2;
  const bool mine = channel < s.channels;
  const int column_step = s.dilation_x * s.channels, row_step = s.dilation_y * S;

  float2 sums[kTaps];  // the last one: of dy
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) sums[tap] = make_float2(0, 0);
  for (int64_t strip = int64_t(split) * strips.per_block() + threadIdx.x / unsigned(strips.lanes);
       mine && strip < strips.count; strip += int64_t(c.splits) * strips.per_block()) {
    const StripPlace place = strip_place(strips, strip, Tile);
    const int out_y = place.residue_y + place.row * s.dilation_y;
    const int out_x = place.residue_x + place.column * s.dilation_x;
    const int rows = min(strips.rows, (s.out_height - out_y + s.dilation_y - 1) / s.dilation_y);
    const int in_y = out_y * S - s.top, in_x = out_x * S - s.left;
    const T* x = static_cast<const T*>(c.x) +
                 int64_t(place.batch) * s.height * s.width * s.channels + in_x * s.channels +
                 channel;
    const T* dy =
        static_cast<const T*>(c.dy) +
        ((int64_t(place.batch) * s.out_height + out_y) * s.out_width + out_x) * s.channels +
        channel;
    unsigned inside = 0, outside = 0;
#pragma unroll
    for (int i = 0; i < kWide; ++i)
      inside |= unsigned(unsigned(in_x + i * s.dilation_x) < unsigned(s.width)) << i;
#pragma unroll
    for (int t = 0; t < Tile; ++t) outside |= unsigned(out_x + t * s.dilation_x < s.out_width) << t;

    RawPair<T> next[Ahead][S][kWide], next_dy[Ahead][Tile];
    auto fetch_dy = [&](int step, RawPair<T>(&to)[Tile]) {
      unsigned there = step < rows ? outside : 0;
      const T* row = dy + int64_t(step) * s.dilation_y * s.out_width * s.channels;
#pragma unroll
      for (int t = 0; t < Tile; ++t) load_pair(row + t * column_step, (there >> t & 1) != 0, to[t]);
    };
    auto fetch = [&](int step, RawPair<T>(&to)[S][kWide], RawPair<T>(&to_dy)[Tile]) {
      fetch_rows(s, x, in_y + step * row_step, column_step, inside, to);
      fetch_dy(step, to_dy);
    };
    float2 slopes[kAges][Tile];
#pragma unroll
    for (int age = 0; age < kAges; ++age)
#pragma unroll
      for (int t = 0; t < Tile; ++t) slopes[age][t] = make_float2(0, 0);
    auto take_slopes = [&](const RawPair<T>(&raw)[Tile]) {
#pragma unroll
      for (int t = 0; t < Tile; ++t) {
#pragma unroll
        for (int age = kAges - 1; age > 0; --age) slopes[age][t] = slopes[age - 1][t];
        slopes[0][t] = to_floats<T>(raw[t]);
        sums[kTaps - 1].x += slopes[0][t].x;
        sums[kTaps - 1].y += slopes[0][t].y;
      }
    };
    // Steps before the image's first row only bring dy's rows, those behind its last nothing.
    const int2 range = steps_inside(in_y + S - 1, row_step, s.height + S - 1, rows + kAges - 1);
    const int last = max(range.y, rows);
    int step = 0;
    for (; step < range.x; ++step) {
      fetch_dy(step, next_dy[0]);
      take_slopes(next_dy[0]);
    }
#pragma unroll
    for (int ahead = 0; ahead < Ahead; ++ahead) fetch(step + ahead, next[ahead], next_dy[ahead]);
    for (; step < last; ++step) {
      take_slopes(next_dy[0]);
      float2 row[S][kWide];
#pragma unroll
      for (int phase = 0; phase < S; ++phase)
#pragma unroll
        for (int i = 0; i < kWide; ++i) row[phase][i] = to_floats<T>(next[0][phase][i]);
#pragma unroll
      for (int ahead = 1; ahead < Ahead; ++ahead) {
#pragma unroll
        for (int phase = 0; phase < S; ++phase)
#pragma unroll
          for (int i = 0; i < kWide; ++i) next[ahead - 1][phase][i] = next[ahead][phase][i];
#pragma unroll
        for (int t = 0; t < Tile; ++t) next_dy[ahead - 1][t] = next_dy[ahead][t];
      }
      fetch(step + Ahead, next[Ahead - 1], next_dy[Ahead - 1]);
#pragma unroll
      for (int phase = 0; phase < S; ++phase)
#pragma unroll
        for (int age = 0; age < kAges; ++age) {
          const int ky = phase + S * age;
          if (ky >= K) continue;
#pragma unroll
          for (int t = 0; t < Tile; ++t)
#pragma unroll
            for (int kx = 0; kx < K; ++kx)
              add_product(sums[ky * K + kx], row[phase][t * S + kx], slopes[age][t]);
        }
    }
  }
  add_strips<kTaps>(sums, strips.lanes, half);
  if (threadIdx.x >= unsigned(strips.lanes) || !mine) return;
  float* to = c.partials + int64_t(split) * kTaps * s.channels + channel;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap)
    *reinterpret_cast<float2*>(to + tap * s.channels) = sums[tap];
}

// 32 numbers by 8 parts of the splits, which are added in their order. K: the partials' kernel,
// which may be larger than the real one.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_splits(const __grid_constant__ WeightStrips c, int kernel) {
  __shared__ float parts[kBlock / 32][32];
  const ConvShape& s = c.shape;
  const int lane = int(threadIdx.x) % 32, part = int(threadIdx.x) / 32;
  const int taps = kernel * kernel + 1, count = taps * s.channels;
  const int at = int(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (at < count)
#pragma unroll 8
    for (int split = part; split < c.splits; split += kBlock / 32)
      sum += c.partials[int64_t(split) * count + at];
  parts[part][lane] = sum;
  __syncthreads();
  if (part != 0 || at >= count) return;
  float total = 0;
  for (int other = 0; other < kBlock / 32; ++other) total += parts[other][lane];
  const int tap = at / s.channels, channel = at % s.channels, ky = tap / kernel, kx = tap % kernel;
  if (tap == taps - 1) {
    if (c.has_bias) static_cast<T*>(c.bias_out)[channel] = from_float<T>(total);
  } else if (ky < s.kernel_y && kx < s.kernel_x) {
    static_cast<T*>(c.out)[(ky * s.kernel_x + kx) * s.channels + channel] = from_float<T>(total);
  }
}

int kernel_size(const ConvShape& s) {
  int size = std::max(s.kernel_y, s.kernel_x);
  return size <= 3 ? 3 : size <= 5 ? 5 : 7;
}

constexpr int kMostAtOnce = 132 * 6;

template <class T, int K, int S, int Tile, int Ahead, int Blocks>
void launch_weight_grad(WeightStrips call, cudaStream_t stream) {
  auto kernel = depthwise_weight_grad<T, K, S, Tile, Ahead, Blocks>;
  static const int at_once = std::min(resident_blocks(kernel), kMostAtOnce);
  const ConvShape& s = call.shape;
  call.strips = cover(s, s.out_height, s.out_width, Tile, ages_of(K, S) - 1, at_once);
  call.splits = std::min<int>(std::max(1, at_once / call.strips.slabs),
                              int(call.strips.blocks()) / call.strips.slabs);
  kernel<<<unsigned(call.splits * call.strips.slabs), kStripThreads, 0, stream>>>(call);
  add_splits<T><<<blocks_for((K * K + 1) * s.channels, 32), kBlock, 0, stream>>>(call, K);
}

}  // namespace

size_t depthwise_partial_bytes(const ConvShape& s) {
  int size = kernel_size(s), lanes = strip_lanes(s.channels);
  int slabs = (s.channels / 2 + lanes - 1) / lanes;
  return size_t(std::max(1, kMostAtOnce / slabs)) * size_t(size * size + 1) * size_t(s.channels) *
         sizeof(float);
}

void run_depthwise_weight_grad(const DirectConv& call, cudaStream_t stream) {
  WeightStrips strips{call, {}, 1};
  auto launch = [&]<int K>(std::integral_constant<int, K>) {
    visit_float(call.dtype, [&]<class T>(T) {
      constexpr int kBlocks = sizeof(T) == 4 || K > 3 ? 2 : 4;
      if (call.shape.stride_y == 1)
        launch_weight_grad<T, K, 1, (K == 7 ? 4 : 7), 1, kBlocks>(strips, stream);
      else
        launch_weight_grad<T, K, 2, 4, 1, kBlocks>(strips, stream);
    });
  };
  switch (kernel_size(call.shape)) {
    case 3:
      launch(std::integral_constant<int, 3>());
      break;
    case 5:
      launch(std::integral_constant<int, 5>());
      break;
    default:
      launch(std::integral_constant<int, 7>());
  }
  check_launch("depthwise conv2d_weight_grad");
}

}  // namespace stoker::cuda
