#include "engine/cuda/kernels/depthwise.h"

#include "engine/cuda/kernels/depthwise.cuh"

namespace stoker::cuda {

namespace {

struct ForwardStrips : DirectConv {
  Strips strips;
  bool turned = false;  // the kernel upside down and mirrored: the image's gradient
};

// The two weights of a tap, zero outside the kernel: 2×2 runs as 3×3.
template <class T>
__device__ inline float2 weight_at(const DirectConv& c, bool turned, int ky, int kx, int channel) {
  const ConvShape& s = c.shape;
  if (ky >= s.kernel_y || kx >= s.kernel_x || channel >= s.channels) return make_float2(0, 0);
  if (turned) {
    ky = s.kernel_y - 1 - ky;
    kx = s.kernel_x - 1 - kx;
  }
  RawPair<T> raw;
  load_pair(static_cast<const T*>(c.w) + int64_t(ky * s.kernel_x + kx) * s.channels + channel, true,
            raw);
  return to_floats<T>(raw);
}

// Weights in registers, or in shared memory where they are too many.
template <class T, int K, bool InRegisters>
struct Weights {
  float2 at[K][K];
  __device__ void load(const DirectConv& c, bool turned, int channel, const Strips&) {
#pragma unroll
    for (int ky = 0; ky < K; ++ky)
#pragma unroll
      for (int kx = 0; kx < K; ++kx) at[ky][kx] = weight_at<T>(c, turned, ky, kx, channel);
  }
  __device__ float2 get(int ky, int kx) const { return at[ky][kx]; }
};

template <class T, int K>
struct Weights<T, K, false> {
  const float2* mine;
  __device__ void load(const DirectConv& c, bool turned, int channel, const Strips& strips) {
    constexpr int kTaps = K * K;
    __shared__ float2 all[kTaps * 32];
    const int lane = int(threadIdx.x % unsigned(strips.lanes));
    const int first = int(threadIdx.x / unsigned(strips.lanes)), step = strips.per_block();
    mine = all + lane;
#pragma unroll 4
    for (int tap = first; tap < kTaps; tap += step)
      all[tap * 32 + lane] = weight_at<T>(c, turned, tap / K, tap % K, channel);
    __syncthreads();
  }
  __device__ float2 get(int ky, int kx) const { return mine[(ky * K + kx) * 32]; }
};

// sums → the row's results.
template <class T, int Tile>
__device__ inline void finish_row(const DirectConv& c, float2 bias, const float2 (&sums)[Tile],
                                  unsigned outside, int64_t at, int column_step) {
  float2 results[Tile];
#pragma unroll
  for (int t = 0; t < Tile; ++t) results[t] = make_float2(sums[t].x + bias.x, sums[t].y + bias.y);
  if (c.relu) {
    auto clip = [&](float x) { return x < 0 ? 0 : x > c.ceiling ? c.ceiling : x; };  // NaN passes
#pragma unroll
    for (int t = 0; t < Tile; ++t) results[t] = make_float2(clip(results[t].x), clip(results[t].y));
  }
  auto store = [&]<class Out>(Out* out) {
    if (outside == (1U << Tile) - 1) {
#pragma unroll
      for (int t = 0; t < Tile; ++t) store_pair(results[t], out + int64_t(t) * column_step);
    } else {
#pragma unroll
      for (int t = 0; t < Tile; ++t)
        if ((outside >> t & 1) != 0) store_pair(results[t], out + int64_t(t) * column_step);
    }
  };
  if (c.wide)
    store(static_cast<float*>(c.out) + at);
  else
    store(static_cast<T*>(c.out) + at);
}

// Tile: columns of the result. Ahead: steps that are on their way from memory. The sums of a row
// move one place on with the first product of the next step, so that nothing is copied.
template <class T, int K, int S, int Tile, bool InRegisters, int Ahead, int Blocks>
__global__ void __launch_bounds__(kStripThreads, Blocks)
    depthwise(const __grid_constant__ ForwardStrips c) {
  constexpr int kAges = ages_of(K, S), kWide = Tile * S + K - S;
  const ConvShape& s = c.shape;
  const Strips& strips = c.strips;
  const int slab = int(blockIdx.x % unsigned(strips.slabs));
  const int channel = (slab * strips.lanes + int(threadIdx.x % unsigned(strips.lanes))) * 2;
  const int64_t strip = int64_t(blockIdx.x / unsigned(strips.slabs)) * strips.per_block() +
                        threadIdx.x / unsigned(strips.lanes);
  const bool mine = channel < s.channels && strip < strips.count;
  const StripPlace place = strip_place(strips, mine ? strip : 0, Tile);

  const int out_y = place.residue_y + place.row * s.dilation_y;
  const int out_x = place.residue_x + place.column * s.dilation_x;
  const int rows = min(strips.rows, (s.out_height - out_y + s.dilation_y - 1) / s.dilation_y);
  const int in_y = out_y * S - s.top, in_x = out_x * S - s.left;
  const int column_step = s.dilation_x * s.channels, row_step = s.dilation_y * S;
  const T* x = static_cast<const T*>(c.x) + int64_t(place.batch) * s.height * s.width * s.channels +
               in_x * s.channels + channel;
  unsigned inside = 0, outside = 0;
#pragma unroll
  for (int i = 0; i < kWide; ++i)
    inside |= unsigned(mine && unsigned(in_x + i * s.dilation_x) < unsigned(s.width)) << i;
#pragma unroll
  for (int t = 0; t < Tile; ++t) outside |= unsigned(out_x + t * s.dilation_x < s.out_width) << t;

  RawPair<T> next[Ahead][S][kWide];
  auto fetch = [&](int step, RawPair<T>(&to)[S][kWide]) {
    fetch_rows(s, x, in_y + step * row_step, column_step, inside, to);
  };
  float2 sums[kAges][Tile];
#pragma unroll
  for (int age = 0; age < kAges; ++age)
#pragma unroll
    for (int t = 0; t < Tile; ++t) sums[age][t] = make_float2(0, 0);

  const int64_t down = int64_t(s.dilation_y) * s.out_width * s.channels;
  const int64_t out =
      ((int64_t(place.batch) * s.out_height + out_y) * s.out_width + out_x) * s.channels + channel -
      (kAges - 1) * down;
  // Steps before the image's first row change nothing, those behind its last only finish.
  const int steps = rows + kAges - 1;
  const int2 range = steps_inside(in_y + S - 1, row_step, s.height + S - 1, steps);
  int step = min(range.x, kAges - 1);
#pragma unroll
  for (int ahead = 0; ahead < Ahead; ++ahead) fetch(step + ahead, next[ahead]);
  Weights<T, K, InRegisters> weights;  // while those are on their way
  weights.load(c, c.turned, channel, strips);
  if (!mine) return;
  float2 bias = make_float2(0, 0);
  if (c.bias != nullptr) {
    RawPair<T> raw;
    load_pair(static_cast<const T*>(c.bias) + channel, true, raw);
    bias = to_floats<T>(raw);
  }
  auto finish = [&](int at_step) {
    if (at_step >= kAges - 1)
      finish_row<T, Tile>(c, bias, sums[kAges - 1], outside, out + at_step * down, column_step);
  };
  // At a strip's ends only some rows are its own: there the others are left out.
  auto walk = [&](int end, auto at_ends) {
    for (; step < end; ++step) {
      float2 row[S][kWide];
#pragma unroll
      for (int phase = 0; phase < S; ++phase)
#pragma unroll
        for (int i = 0; i < kWide; ++i) {
          row[phase][i] = to_floats<T>(next[0][phase][i]);
#pragma unroll
          for (int ahead = 1; ahead < Ahead; ++ahead)
            next[ahead - 1][phase][i] = next[ahead][phase][i];
        }
      fetch(step + Ahead, next[Ahead - 1]);
#pragma unroll
      for (int phase = 0; phase < S; ++phase)
#pragma unroll
        for (int age = kAges - 1; age >= 0; --age) {
          const int ky = phase + S * age;
          if (ky >= K) continue;
          if (at_ends && unsigned(step - age) >= unsigned(rows)) continue;
#pragma unroll
          for (int kx = 0; kx < K; ++kx) {
            const float2 weight = weights.get(ky, kx);
#pragma unroll
            for (int t = 0; t < Tile; ++t) {
              const bool moves = phase == 0 && kx == 0;
              const float2 before = !moves    ? sums[age][t]
                                    : age > 0 ? sums[age > 0 ? age - 1 : 0][t]
                                              : make_float2(0, 0);
              sums[age][t] = product_and(row[phase][t * S + kx], weight, before);
            }
          }
        }
      finish(step);
    }
  };
  if constexpr (S == 1 && K > 5) {
    walk(min(kAges - 1, range.y), std::true_type());
    walk(min(rows, range.y), std::false_type());
    walk(range.y, std::true_type());
  } else {
    walk(range.y, std::false_type());
  }
  for (; step < steps; ++step) {
#pragma unroll
    for (int age = kAges - 1; age >= 0; --age)
#pragma unroll
      for (int t = 0; t < Tile; ++t)
        sums[age][t] = age > 0 ? sums[age > 0 ? age - 1 : 0][t] : make_float2(0, 0);
    finish(step);
  }
}

// The image's gradient where the stride is 2. A step takes one row of dy and ends two rows of dx;
// tap row ky = phase + 2 · age meets the row of dx that ends `age` steps later. Tile: columns of
// dy, two columns of dx each.
template <class T, int K, int S, int Tile, bool InRegisters, int Ahead, int Blocks>
__global__ void __launch_bounds__(kStripThreads, Blocks)
    depthwise_transposed(const __grid_constant__ ForwardStrips c) {
  constexpr int kAges = ages_of(K, S), kWide = Tile + kAges - 1;
  const ConvShape& s = c.shape;
  const Strips& strips = c.strips;
  const int slab = int(blockIdx.x % unsigned(strips.slabs));
  const int channel = (slab * strips.lanes + int(threadIdx.x % unsigned(strips.lanes))) * 2;
  const int64_t strip = int64_t(blockIdx.x / unsigned(strips.slabs)) * strips.per_block() +
                        threadIdx.x / unsigned(strips.lanes);
  const bool mine = channel < s.channels && strip < strips.count;
  const StripPlace place = strip_place(strips, mine ? strip : 0, Tile);

  const int first_y = s.top / S + place.row, first_x = s.left / S + place.column;
  const int rows = min(strips.rows, (s.height - 1 + s.top) / S + 1 - first_y);
  const int in_y = first_y - (kAges - 1), in_x = first_x - (kAges - 1);
  const T* dy = static_cast<const T*>(c.dy) +
                int64_t(place.batch) * s.out_height * s.out_width * s.channels + in_x * s.channels +
                channel;
  T* dx = static_cast<T*>(c.out) + int64_t(place.batch) * s.height * s.width * s.channels + channel;
  unsigned inside = 0;
#pragma unroll
  for (int i = 0; i < kWide; ++i)
    inside |= unsigned(mine && unsigned(in_x + i) < unsigned(s.out_width)) << i;

  RawPair<T> next[Ahead][kWide];
  auto fetch = [&](int step, RawPair<T>(&to)[kWide]) {
    int y = in_y + step;
    unsigned there = unsigned(y) < unsigned(s.out_height) ? inside : 0;
    const T* row = dy + int64_t(y) * s.out_width * s.channels;
#pragma unroll
    for (int i = 0; i < kWide; ++i) load_pair(row + i * s.channels, (there >> i & 1) != 0, to[i]);
  };
  float2 sums[kAges][S][Tile * S];
#pragma unroll
  for (int age = 0; age < kAges; ++age)
#pragma unroll
    for (int phase = 0; phase < S; ++phase)
#pragma unroll
      for (int t = 0; t < Tile * S; ++t) sums[age][phase][t] = make_float2(0, 0);
#pragma unroll
  for (int ahead = 0; ahead < Ahead; ++ahead) fetch(ahead, next[ahead]);
  Weights<T, K, InRegisters> weights;  // while those are on their way
  weights.load(c, false, channel, strips);
  if (!mine) return;
  for (int step = 0; step < rows + kAges - 1; ++step) {
    float2 row[kWide];
#pragma unroll
    for (int i = 0; i < kWide; ++i) {
      row[i] = to_floats<T>(next[0][i]);
#pragma unroll
      for (int ahead = 1; ahead < Ahead; ++ahead) next[ahead - 1][i] = next[ahead][i];
    }
    fetch(step + Ahead, next[Ahead - 1]);
#pragma unroll
    for (int age = 0; age < kAges; ++age)
#pragma unroll
      for (int phase = 0; phase < S; ++phase) {
        const int ky = phase + S * age;
        if (ky >= K) {
#pragma unroll
          for (int t = 0; t < Tile * S; ++t) sums[age][phase][t] = make_float2(0, 0);
          continue;
        }
#pragma unroll
        for (int kx = 0; kx < K; ++kx) {
          const float2 weight = weights.get(ky, kx);
#pragma unroll
          for (int t = 0; t < Tile; ++t) {
            float2& sum = sums[age][phase][t * S + kx % S];
            const float2 before = kx >= S ? sum
                                  : age + 1 < kAges
                                      ? sums[age + 1 < kAges ? age + 1 : 0][phase][t * S + kx]
                                      : make_float2(0, 0);
            sum = product_and(row[t + kAges - 1 - kx / S], weight, before);
          }
        }
      }
    if (step < kAges - 1) continue;
#pragma unroll
    for (int phase = 0; phase < S; ++phase) {
      int y = (first_y + step - (kAges - 1)) * S + phase - s.top;
      if (unsigned(y) >= unsigned(s.height)) continue;
#pragma unroll
      for (int t = 0; t < Tile * S; ++t) {
        int column = first_x * S + t - s.left;
        if (unsigned(column) < unsigned(s.width))
          store_pair(sums[0][phase][t], dx + (int64_t(y) * s.width + column) * s.channels);
      }
    }
  }
}

template <class T, int K, int S, int Tile, bool InRegisters, int Ahead, int Blocks>
void launch_forward(ForwardStrips call, cudaStream_t stream) {
  auto kernel = depthwise<T, K, S, Tile, InRegisters, Ahead, Blocks>;
  static const int at_once = resident_blocks(kernel);
  const ConvShape& s = call.shape;
  call.strips = cover(s, s.out_height, s.out_width, Tile, ages_of(K, S) - 1, at_once);
  kernel<<<call.strips.blocks(), kStripThreads, 0, stream>>>(call);
}

template <class T, int K, int Tile, bool InRegisters, int Ahead, int Blocks>
void launch_transposed(ForwardStrips call, cudaStream_t stream) {
  auto kernel = depthwise_transposed<T, K, 2, Tile, InRegisters, Ahead, Blocks>;
  static const int at_once = resident_blocks(kernel);
  const ConvShape& s = call.shape;
  int rows = (s.height - 1 + s.top) / 2 + 1 - s.top / 2;
  int columns = (s.width - 1 + s.left) / 2 + 1 - s.left / 2;
  call.strips = cover(s, rows, columns, Tile, ages_of(K, 2) - 1, at_once);
  kernel<<<call.strips.blocks(), kStripThreads, 0, stream>>>(call);
}

// function(K) for the smallest kernel here that holds this one.
template <class Function>
void with_kernel(const ConvShape& s, Function function) {
  int size = std::max(s.kernel_y, s.kernel_x);
  if (size <= 3)
    function(std::integral_constant<int, 3>());
  else if (size <= 5)
    function(std::integral_constant<int, 5>());
  else
    function(std::integral_constant<int, 7>());
}

template <int S>
void launch_forward_of(const ForwardStrips& call, cudaStream_t stream) {
  visit_float(call.dtype, [&]<class T>(T) {
    with_kernel(call.shape, [&]<class K>(K) {
      constexpr int kTile = S == 1 ? 7 : 4;
      constexpr int kBlocks = sizeof(T) == 4 ? 1 : K::value == 3 ? 4 : 3;
      launch_forward<T, K::value, S, kTile, (K::value == 3), 1, kBlocks>(call, stream);
    });
  });
}

}  // namespace

bool is_depthwise(const ConvShape& s) {
  bool one_each = s.groups == s.channels && s.filters == s.channels && s.channels > 1;
  bool dense = s.dilation_y == 1 && s.dilation_x == 1;
  return one_each && s.channels % 2 == 0 && s.kernel_y <= 7 && s.kernel_x <= 7 &&
         s.stride_y == s.stride_x && (s.stride_y == 1 || (s.stride_y == 2 && dense));
}

void run_depthwise(const DirectConv& call, cudaStream_t stream) {
  ForwardStrips strips{call, {}, false};
  if (call.shape.stride_y == 1)
    launch_forward_of<1>(strips, stream);
  else
    launch_forward_of<2>(strips, stream);
  check_launch("depthwise conv2d");
}

void run_depthwise_input_grad(const DirectConv& call, cudaStream_t stream) {
  ForwardStrips strips{call, {}, false};
  ConvShape& s = strips.shape;
  if (s.stride_y == 1) {  // a convolution of dy with the kernel turned
    strips.turned = true;
    strips.x = call.dy;
    std::swap(s.height, s.out_height);
    std::swap(s.width, s.out_width);
    s.top = (s.kernel_y - 1) * s.dilation_y - s.top;
    s.left = (s.kernel_x - 1) * s.dilation_x - s.left;
    launch_forward_of<1>(strips, stream);
  } else {
    visit_float(call.dtype, [&]<class T>(T) {
      with_kernel(call.shape, [&]<class K>(K) {
        constexpr int kBlocks = sizeof(T) == 4 ? 2 : K::value == 7 ? 2 : K::value == 5 ? 4 : 5;
        launch_transposed<T, K::value, 4, (K::value == 3), 1, kBlocks>(strips, stream);
      });
    });
  }
  check_launch("depthwise conv2d_input_grad");
}

}  // namespace stoker::cuda
