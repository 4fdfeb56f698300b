#include "engine/cuda/kernels/rgb_stem.cuh"

namespace stoker::cuda {

namespace {

using namespace rgb;

constexpr int kPitch = 128;  // numbers of a row of x under a tile, and a rest

// A warp has 32 filters, whose taps it keeps. Column n of product j is filter
// n / 2 · 8 + j · 2 + n % 2, so that a thread ends with eight filters side by side.
template <class T, int K>
__device__ inline void load_taps(const DirectConv& c, int filter0,
                                 unsigned (*taps)[4][2]) {  // [product][j][half]
  using W = Window<K>;
  const int lane = int(threadIdx.x) % 32, quad = lane % 4, column = lane / 4;
  const T* w = static_cast<const T*>(c.w);
#pragma unroll
  for (int item = 0; item < W::kProducts * 8; ++item) {
    const int product = item / 8, j = item / 2 % 4, group = product * 2 + item % 2;
    const int filter = filter0 + column / 2 * 8 + j * 2 + column % 2;
    const int tap = group % W::kGroups * 8 + quad * 2, first = group / W::kGroups * W::kTaps + tap;
    T pair[2];
#pragma unroll
    for (int next = 0; next < 2; ++next) {
      bool exists = group < W::kAll && tap + next < W::kTaps && filter < c.shape.filters;
      pair[next] = exists ? w[(first + next) * c.shape.filters + filter] : from_float<T>(0);
    }
    taps[product][j][item % 2] = pack<T>(pair[0], pair[1]);
  }
}

// Two rows of 16 pixels. `from`: this thread's first word of the upper one. What zeros of the
// filled-up groups would meet is made zero too: it might be infinite.
template <class T, int K>
__device__ inline void multiply_rows(const unsigned* from, unsigned (*taps)[4][2],
                                     float (*sums)[4][4]) {
  using W = Window<K>;
  const int last = (W::kGroups - 1) * 8 + int(threadIdx.x) % 4 * 2;
  const unsigned mask = last + 1 < W::kTaps ? ~0U : last < W::kTaps ? 0xFFFFU : 0;
#pragma unroll
  for (int step = 0; step < W::kProducts + W::kGroups; ++step) {
    unsigned a[4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int group = step * 2 + half, part = group % W::kGroups;
      const unsigned* word = from + group / W::kGroups * (kPitch / 2) + part * 4;
      const bool exists = group < W::kAll + 2 * W::kGroups;
      a[half * 2] = exists ? word[0] : 0;
      a[half * 2 + 1] = exists ? word[8 * kChannels] : 0;
      if (part < W::kGroups - 1) continue;
      a[half * 2] &= mask;
      a[half * 2 + 1] &= mask;
    }
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      const int product = step - below * W::kGroups;
      if (product < 0 || product >= W::kProducts) continue;
      const bool odd = product * 2 + 1 == W::kAll;
      unsigned own[4] = {a[0], a[1], odd ? 0 : a[2], odd ? 0 : a[3]};
#pragma unroll
      for (int j = 0; j < 4; ++j)
        multiply<T>(sums[below][j], own, taps[product][j][0], taps[product][j][1]);
    }
  }
}

template <class T>
__device__ inline void write_pixel(const DirectConv& c, int64_t to, int filter, float* values) {
  if (c.bias != nullptr)
#pragma unroll
    for (int f = 0; f < 8; ++f) values[f] += to_float(static_cast<const T*>(c.bias)[filter + f]);
  if (c.relu)
#pragma unroll
    for (int f = 0; f < 8; ++f) values[f] = values[f] < 0 ? 0 : values[f];
  if (c.wide) {
    store_floats<4>(values, static_cast<float*>(c.out) + to);
    store_floats<4>(values + 4, static_cast<float*>(c.out) + to + 4);
  } else {
    store_floats<8>(values, static_cast<T*>(c.out) + to);
  }
}

template <class T>
__device__ inline void write_rows(const DirectConv& c, const Tiles& p, const Place& at, int row,
                                  int filter, const float (*sums)[4][4]) {
  const ConvShape& s = c.shape;
  const int along = int(threadIdx.x) % 32 / 4;
  const int64_t first = at.at(s, p, row, along) + filter;
#pragma unroll
  for (int pixel = 0; pixel < 4; ++pixel) {
    if (at.row + row + pixel / 2 >= s.out_height ||
        at.column + along + pixel % 2 * 8 >= s.out_width || filter >= s.filters)
      continue;
    float values[8];
#pragma unroll
    for (int f = 0; f < 8; ++f) values[f] = sums[pixel / 2][f / 2][pixel % 2 * 2 + f % 2];
    write_pixel<T>(c, first + pixel / 2 * p.line + pixel % 2 * 8 * s.filters, filter, values);
  }
}

template <class T, int K>
__global__ void __launch_bounds__(kThreads, kResident)
    rgb_stem(const __grid_constant__ DirectConv c, const __grid_constant__ Tiles p) {
  using W = Window<K>;
  __shared__ __align__(16) unsigned short patch[2][W::kRows][kPitch];
  const ConvShape& s = c.shape;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  // Two warps share a row, with 32 filters each, where there are so many.
  const int sharing = s.filters - int(blockIdx.y) * kSlab > 32 ? 1 : 0, group = warp >> sharing;
  const int filter0 = int(blockIdx.y) * kSlab + (warp & sharing) * 32;
  unsigned taps[W::kProducts][4][2];
  load_taps<T, K>(c, filter0, taps);
  Carried<K, 64> x;
  auto keep = [&](int stage, int half) {
#pragma unroll
    for (int pass = 0; pass < W::kPasses; ++pass)
      if (int row = x.row(half, pass); row < W::kRows)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          patch[stage][row][lane + i / 2 * 32 + i % 2 * 64] =
              static_cast<unsigned short>(x.numbers[pass][i]);
  };
  for (int half = 0; half < 2; ++half) {
    x.load(c, p, blockIdx.x, half);
    keep(0, half);
  }
  int stage = 0;
  for (unsigned tile = blockIdx.x, next; tile < p.count; tile = next, stage ^= 1) {
    __syncthreads();  // this stage is whole, and the other one is no longer read
    next = tile + gridDim.x;
    const Place at(p, tile);
    for (int half = 0; half < 2; ++half) {
      if (next < p.count) x.load(c, p, next, half);
      const int row = (group + (half * kWarps >> sharing)) * 2;
      if (row < kTileRows && at.row + row < s.out_height) {
        float sums[2][4][4] = {};
        multiply_rows<T, K>(reinterpret_cast<const unsigned*>(patch[stage][row * 2]) +
                                lane / 4 * kChannels + lane % 4,
                            taps, sums);
        write_rows<T>(c, p, at, row, filter0 + lane % 4 * 8, sums);
      }
      if (next < p.count) keep(stage ^ 1, half);
    }
  }
}

}  // namespace

bool is_rgb_stem(const ConvShape& s, DType dtype) {
  if ((dtype != DType::float16 && dtype != DType::bfloat16) || s.channels != kChannels ||
      s.groups != 1 || s.stride_y != 2 || s.stride_x != 2 || s.dilation_y != 1 ||
      s.dilation_x != 1 || s.kernel_y != s.kernel_x || s.kernel_y < 2 || s.kernel_y > 7 ||
      s.filters % 8 != 0)
    return false;
  // Numbers of an image, rows of all and Divisor's products are counted in 32 bits.
  const int64_t longest = std::max({s.height, s.width, s.out_height, s.out_width, s.filters});
  const int64_t tiles = int64_t(blocks_for(s.out_height, kTileRows)) *
                        blocks_for(s.out_width, kTileColumns) * s.batch;
  return longest * longest < 1 << 28 && tiles * longest < int64_t(1) << 31;
}

void run_rgb_stem(const DirectConv& call, cudaStream_t stream) {
  visit_stem(call, [&]<class T, int K>(T, std::integral_constant<int, K>) {
    rgb_stem<T, K><<<grid_for(call.shape), kThreads, 0, stream>>>(call, Tiles(call.shape));
  });
  check_launch("rgb_stem");
}

}  // namespace stoker::cuda
