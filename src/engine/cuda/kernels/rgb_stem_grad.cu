#include "engine/cuda/kernels/rgb_stem.cuh"

namespace stoker::cuda {

namespace {

using namespace rgb;

// Rows of the product are taps, columns filters, and what is added over are 16 pixels: the two
// numbers of a word are those of pixels n and n + 8. So x is laid out in such words.
constexpr int kPairPitch = 72;  // words of a row: 64, and an unused rest
constexpr int kFour = 4;        // rows of y that a warp takes at once
constexpr int kQuarter = 16;    // filters of a warp

// Warps of a block that have the same filters: each leaves sums of its own.
__host__ __device__ inline int sharing_warps(int filters) {
  return filters > 2 * kQuarter ? 1 : filters > kQuarter ? 2 : 4;
}

// A tile of dy: eights of filters, exchanged within a pixel so that the rows of a matrix that
// tensor cores take lie in different banks.
struct Slopes {
  uint4 eights[kTileRows][kTileColumns * kSlab / 8];

  static __device__ int place(int pixel, int eight) {
    return pixel * (kSlab / 8) + (eight ^ (pixel % 4 + pixel / 8 * 4));
  }

  // A thread copies the same eight of every row.
  __device__ void fetch(const DirectConv& c, const Tiles& p, unsigned tile, int filter0) {
    const ConvShape& s = c.shape;
    const Place at(p, tile);
    const int pixel = int(threadIdx.x) / 8, eight = int(threadIdx.x) % 8;
    const bool inside = at.column + pixel < s.out_width && filter0 + eight * 8 < s.filters;
    const auto* from =
        static_cast<const unsigned short*>(c.dy) + at.at(s, p, 0, pixel) + filter0 + eight * 8;
    auto to = unsigned(__cvta_generic_to_shared(&eights[0][place(pixel, eight)]));
#pragma unroll
    for (int row = 0; row < kTileRows; ++row) {
      const bool exists = inside && at.row + row < s.out_height;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                       to + row * unsigned(sizeof(eights[0]))),
                   "l"(exists ? from : c.dy), "r"(exists ? 16 : 0)
                   : "memory");
      from += p.line;
    }
  }

  // 16 pixels of a row by 16 filters, as two products take them.
  __device__ void read(int row, int filter, unsigned* words) const {
    const int lane = int(threadIdx.x) % 32;
    const int pixel = lane % 8 / 2 + lane % 2 * 8 + lane / 8 % 2 * 4;
    const uint4* from = &eights[row][place(pixel, filter / 8 + lane / 16)];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(unsigned(__cvta_generic_to_shared(from)))
                 : "memory");
  }
};

// Four rows of 16 pixels. Groups that do not exist end in sums that are never read.
template <class T, int K>
__device__ inline void add_rows(const unsigned* from, const unsigned (*slopes)[4],
                                float (*sums)[2][4]) {
  using W = Window<K>;
#pragma unroll
  for (int step = 0; step < W::kProducts + (kFour - 1) * W::kGroups; ++step) {
    unsigned a[4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int group = step * 2 + half;
      const unsigned* word = from + group / W::kGroups * kPairPitch + group % W::kGroups * 8;
      const bool exists = group < W::kAll + (kFour - 1) * 2 * W::kGroups;
      a[half] = exists ? word[0] : 0;
      a[half + 2] = exists ? word[4 * kStep] : 0;
    }
#pragma unroll
    for (int row = 0; row < kFour; ++row) {
      const int product = step - row * W::kGroups;
      if (product < 0 || product >= W::kProducts) continue;
      multiply<T>(sums[product][0], a, slopes[row][0], slopes[row][1]);
      multiply<T>(sums[product][1], a, slopes[row][2], slopes[row][3]);
    }
  }
}

template <class T, int K>
__global__ void __launch_bounds__(kThreads, kResident)
    rgb_stem_partials(const __grid_constant__ DirectConv c, const __grid_constant__ Tiles p) {
  using W = Window<K>;
  __shared__ Slopes dy[2];
  __shared__ unsigned pairs[2][W::kRows][kPairPitch];
  const ConvShape& s = c.shape;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, quad = lane % 4;
  const int sharing = sharing_warps(s.filters), own = warp % sharing;
  const int filter0 = int(blockIdx.y) * kSlab, quarter = warp / sharing * kQuarter;
  float sums[W::kProducts][2][4] = {};
  Carried<K, 8 * kStep> x;
  auto keep = [&](int stage, int half) {
#pragma unroll
    for (int pass = 0; pass < W::kPasses; ++pass)
      if (int row = x.row(half, pass); row < W::kRows)
#pragma unroll
        for (int i = 0; i < 4; i += 2)
          pairs[stage][row][lane + i * 16] = x.numbers[pass][i] | x.numbers[pass][i + 1] << 16;
  };
  if (p.count > 0) dy[0].fetch(c, p, blockIdx.x, filter0);
  for (int half = 0; half < 2 && p.count > 0; ++half) {
    x.load(c, p, blockIdx.x, half);
    keep(0, half);
  }
  int stage = 0;
  for (unsigned tile = blockIdx.x, next; tile < p.count; tile = next, stage ^= 1) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // this stage is whole, and the other one is no longer read
    next = tile + gridDim.x;
    if (next < p.count) dy[stage ^ 1].fetch(c, p, next, filter0);
    for (int half = 0; half < 2; ++half) {
      if (next < p.count) x.load(c, p, next, half);
      if (sharing == 1 || half % sharing == own) {
        unsigned slopes[kFour][4];
#pragma unroll
        for (int k = 0; k < kFour; ++k) dy[stage].read(half * kFour + k, quarter, slopes[k]);
        add_rows<T, K>(&pairs[stage][2 * half * kFour][quad * kStep + lane / 4], slopes, sums);
      }
      if (next < p.count) keep(stage ^ 1, half);
    }
  }
  const int64_t weights = int64_t(K) * W::kTaps * s.filters;
  const int filter = filter0 + quarter + quad * 2;
  float* to = c.partials + (int64_t(blockIdx.x) * sharing + own) * weights + filter;
#pragma unroll
  for (int item = 0; item < W::kAll * 2; ++item) {
    const int group = item / 2, tap = group % W::kGroups * 8 + lane / 4;
    const float* pair = sums[group / 2][item % 2] + group % 2 * 2;
    if (tap < W::kTaps && filter + item % 2 * 8 < s.filters)
      *reinterpret_cast<float2*>(to + (group / W::kGroups * W::kTaps + tap) * s.filters +
                                 item % 2 * 8) = make_float2(pair[0], pair[1]);
  }
}

}  // namespace

int rgb_stem_splits(const ConvShape& s) { return int(grid_for(s).x) * sharing_warps(s.filters); }

void run_rgb_stem_partials(const DirectConv& call, cudaStream_t stream) {
  visit_stem(call, [&]<class T, int K>(T, std::integral_constant<int, K>) {
    rgb_stem_partials<T, K><<<grid_for(call.shape), kThreads, 0, stream>>>(call, Tiles(call.shape));
  });
  check_launch("rgb_stem_partials");
}

}  // namespace stoker::cuda
