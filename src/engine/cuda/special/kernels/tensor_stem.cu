#include "engine/cuda/special/kernels/tensor_stem.h"

#include "engine/cuda/kernels/divisor.cuh"
#include "engine/cuda/kernels/last_block.cuh"
#include "engine/cuda/kernels/layouts.cuh"
#include "engine/cuda/kernels/tensor_cores.cuh"
#include "engine/cuda/kernels/update_math.cuh"

namespace stoker::cuda {

namespace {

constexpr int kTaps = 9, kTile = 16;  // pooled pixels of a product
constexpr int kSlab = 32;             // filters of a warp

// The pooled image of a stem.
struct Pooled {
  unsigned pixels, tiles, slabs;
  Divisor wide, high;
  int width, height;  // of x

  explicit Pooled(const ConvShape& s)
      : pixels(unsigned(s.batch) * unsigned(s.out_height / 2) * unsigned(s.out_width / 2)),
        tiles((pixels + kTile - 1) / kTile),
        slabs(unsigned(s.filters + kSlab - 1) / kSlab),
        wide(s.out_width / 2),
        high(s.out_height / 2),
        width(s.width),
        height(s.height) {}

  // Where the 4×4 pixels under a pooled pixel begin.
  __device__ unsigned corner(unsigned pixel) const {
    unsigned line = wide.divide(pixel), image = high.divide(line);
    unsigned row = image * unsigned(height) + (line - image * high.by) * 2;
    return row * unsigned(width) + (pixel - line * wide.by) * 2;
  }
};

template <class T>
__device__ inline float weight_at(const void* w, bool wide, int at) {
  return wide ? to_float(from_float<T>(static_cast<const float*>(w)[at]))
              : to_float(static_cast<const T*>(w)[at]);
}

// --- forward ---

constexpr int kLayoutTile = 32;

// A warp makes 16 pooled pixels of 32 filters at a time. Column n of product j is filter
// n / 2 · 8 + j · 2 + n % 2, so that a thread ends with eight filters side by side.
template <class T, class X>
__global__ void __launch_bounds__(kBlock)
    tensor_stem(const __grid_constant__ DirectConv c, const __grid_constant__ Pooled p,
                const __grid_constant__ FewLayouts layouts) {
  // The first blocks of the grid have the layouts: they are quick, and who waits for this launch
  // waits for them too.
  const int laid = layouts.first_block[layouts.count];
  if (int(blockIdx.x) < laid) {
    __shared__ float tile[kLayoutTile][kLayoutTile + 1];
    return lay_out<kLayoutTile, float, T, FewLayouts::Way::to_cudnn>(layouts, int(blockIdx.x),
                                                                     tile);
  }
  const unsigned block = blockIdx.x - unsigned(laid);
  constexpr int kFrame = 5;  // the 3×3 taps within zeros, for kernels that begin one pixel later
  __shared__ T framed[kFrame * kFrame][kSlab];
  const ConvShape& s = c.shape;
  const int lane = int(threadIdx.x) % 32, quad = lane % 4, row = lane / 4;
  const int filter0 = int(block % p.slabs) * kSlab, own = filter0 + quad * 8;
  for (int item = int(threadIdx.x); item < kFrame * kFrame * kSlab; item += kBlock) {
    int up = item / kSlab / kFrame - 1, left = item / kSlab % kFrame - 1;
    int filter = filter0 + item % kSlab;
    bool exists = up >= 0 && up < 3 && left >= 0 && left < 3 && filter < s.filters;
    framed[item / kSlab][item % kSlab] = from_float<T>(
        exists ? weight_at<T>(c.w, c.wide_w, (up * 3 + left) * s.filters + filter) : 0);
  }
  float bias[8];
#pragma unroll
  for (int f = 0; f < 8; ++f)
    bias[f] = c.bias != nullptr && own < s.filters ? weight_at<T>(c.bias, c.wide_bias, own + f) : 0;
  __syncthreads();
  unsigned taps[4][4][2];  // [product][kernel][half]
  const T* first = &framed[(quad / 2 + 1) * kFrame + quad % 2 * 2 + 1][row / 2 * 8 + row % 2];
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const T* tap = first + ((half * 2 - q / 2) * kFrame - q % 2) * kSlab + j * 2;
        taps[j][q][half] = pack<T>(tap[0], tap[kSlab]);
      }

  const X* x = static_cast<const X*>(c.x);
  const int at = quad / 2 * s.width + quad % 2 * 2;  // of this thread's pixels in the 4×4
  for (unsigned tile = (block / p.slabs * kBlock + threadIdx.x) / 32; tile < p.tiles;
       tile += (gridDim.x - unsigned(laid)) / p.slabs * (kBlock / 32)) {
    unsigned window[4];
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      const X* from = x + p.corner(min(tile * kTile + row + below * 8, p.pixels - 1)) + at;
      window[below] = pack<T>(to_float(from[0]), to_float(from[1]));
      from += 2 * s.width;
      window[2 + below] = pack<T>(to_float(from[0]), to_float(from[1]));
    }
    unsigned best[2][4], places[2][4];  // [pixel][product]
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float sums[4][4];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        sums[q][0] = sums[q][2] = bias[j * 2];
        sums[q][1] = sums[q][3] = bias[j * 2 + 1];
        multiply<T>(sums[q], window, taps[j][q][0], taps[j][q][1]);
      }
#pragma unroll
      for (int below = 0; below < 2; ++below) {
        // As two ops would: what is compared has been rounded.
        unsigned winner = 0, place = 0x00010001;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          Pair<T> pair = as_pair<T>(pack<T>(sums[q][below * 2], sums[q][below * 2 + 1]));
          pair = __hmax2_nan(pair, as_pair<T>(0));
          unsigned wins = q == 0 ? ~0U : __hgt2_mask(pair, as_pair<T>(winner));
          if (q > 0) pair = __hmax2_nan(pair, as_pair<T>(winner));  // NaN stays
          winner = *reinterpret_cast<unsigned*>(&pair);
          place = (place & ~wins) | ((0x00010001U << q) & wins);
        }
        best[below][j] = winner;
        places[below][j] = place & __hgt2_mask(as_pair<T>(winner), as_pair<T>(0));
      }
    }
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      unsigned pixel = tile * kTile + row + below * 8;
      if (pixel >= p.pixels || own >= s.filters) continue;
      int64_t to = int64_t(pixel) * s.filters + own;
      *reinterpret_cast<uint4*>(static_cast<T*>(c.out) + to) =
          make_uint4(best[below][0], best[below][1], best[below][2], best[below][3]);
      *reinterpret_cast<uint2*>(c.places + to) =
          make_uint2(permute(places[below][0], places[below][1], 0x6420),
                     permute(places[below][2], places[below][3], 0x6420));
    }
  }
}

// --- weight gradient ---

constexpr int kGradThreads = 384, kGradWarps = kGradThreads / 32;
constexpr int kSums = kTaps + 1;                // the tenth: the sum of dy
constexpr int kItems = kSums * kSlab;           // of a slab
constexpr int kFours = kItems / 4;              // a thread adds four side by side
constexpr int kShares = kGradThreads / kFours;  // threads of the same four
static_assert(kItems <= kGradThreads && kShares <= kGradWarps);

// A warp takes 16 pooled pixels of 32 filters at a time: rows of the product are taps (and one row
// of ones), columns filters, and what is added over are pixels, once for each of the four places
// that a gradient may go to. Column n of product j is filter n · 4 + j.
template <class T, class X>
__device__ inline void add_tile(const DirectConv& c, const Pooled& p, unsigned tile, int own,
                                float (*sums)[4]) {
  const ConvShape& s = c.shape;
  const int lane = int(threadIdx.x) % 32, quad = lane % 4, row = lane / 4;
  const X* x = static_cast<const X*>(c.x);
  // This thread's pixels: 2 · quad, the next, and both + 8.
  uint2 slopes[4];
  unsigned places[4], from[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    unsigned pixel = tile * kTile + unsigned(quad * 2 + k % 2 + k / 2 * 8);
    bool counts = pixel < p.pixels && own < s.filters;
    int64_t at = int64_t(pixel) * s.filters + own;
    slopes[k] = counts ? *reinterpret_cast<const uint2*>(static_cast<const T*>(c.dy) + at)
                       : make_uint2(0, 0);
    places[k] = counts ? *reinterpret_cast<const unsigned*>(c.places + at) : 0;
    from[k] = p.corner(min(pixel, p.pixels - 1));
  }
  const unsigned ones = row == 1 ? pack<T>(1.0F, 1.0F) : 0;
  const int tap = row / 3 * s.width + row % 3, ninth = 2 * s.width + 2;
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    unsigned window[4];
    const X* moved = x + q / 2 * s.width + q % 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const X *first = moved + from[half * 2], *second = moved + from[half * 2 + 1];
      window[half * 2] = pack<T>(to_float(first[tap]), to_float(second[tap]));
      window[half * 2 + 1] = ones;
      if (row == 0) window[half * 2 + 1] = pack<T>(to_float(first[ninth]), to_float(second[ninth]));
    }
    unsigned signs[4];  // the bit of this place on top of every byte
#pragma unroll
    for (int k = 0; k < 4; ++k) signs[k] = places[k] << (7 - q);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned take = j % 2 == 0 ? 0x5410 : 0x7632;
      const unsigned low = 8 | j, high = 8 | 4 | j;
      const unsigned spread = low | low << 4 | high << 8 | high << 12;
      unsigned b[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint2 one = slopes[half * 2], other = slopes[half * 2 + 1];
        b[half] = permute(j < 2 ? one.x : one.y, j < 2 ? other.x : other.y, take) &
                  permute(signs[half * 2], signs[half * 2 + 1], spread);
      }
      multiply<T>(sums[j], window, b[0], b[1]);
    }
  }
}

// The sum of `rows` rows of kItems for each thread that has an item, in an order that depends on
// the number of rows alone; load(row, four). `shares` is free once all threads have loaded.
template <class Load>
__device__ inline float add_rows(unsigned rows, float* shares, Load load) {
  constexpr unsigned kInFlight = 8;
  const unsigned four = threadIdx.x % kFours, share = threadIdx.x / kFours;
  float4 sum = {};
  if (share < kShares)
    for (unsigned first = share; first < rows; first += kShares * kInFlight) {
      float4 parts[kInFlight];
#pragma unroll
      for (unsigned u = 0; u < kInFlight; ++u) {
        unsigned row = first + u * kShares;
        parts[u] = row < rows ? load(row, four) : float4{};
      }
#pragma unroll
      for (unsigned u = 0; u < kInFlight; ++u) {
        sum.x += parts[u].x;
        sum.y += parts[u].y;
        sum.z += parts[u].z;
        sum.w += parts[u].w;
      }
    }
  __syncthreads();
  if (share < kShares) reinterpret_cast<float4*>(shares)[share * kFours + four] = sum;
  __syncthreads();
  float total = 0;
  if (threadIdx.x < kItems)
#pragma unroll
    for (int other = 0; other < kShares; ++other) total += shares[other * kItems + threadIdx.x];
  return total;
}

// Blocks of one slab of filters: the last one to arrive adds what all have.
template <class T, class X>
__global__ void __launch_bounds__(kGradThreads)
    tensor_stem_weight_grad(const __grid_constant__ DirectConv c, const __grid_constant__ Pooled p,
                            const __grid_constant__ FewUpdates updates) {
  __shared__ __align__(16) float parts[kGradWarps * kItems];  // [warps][sums][filters]
  const int filters = c.shape.filters, filter0 = int(blockIdx.y) * kSlab;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  float sums[4][4] = {};
  for (unsigned tile = blockIdx.x * kGradWarps + unsigned(warp); tile < p.tiles;
       tile += gridDim.x * kGradWarps)
    add_tile<T, X>(c, p, tile, filter0 + lane / 4 * 4, sums);
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int sum = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      if (sum < kSums) parts[warp * kItems + sum * kSlab + column * 4 + j] = sums[j][i];
    }
  __syncthreads();
  const int item = int(threadIdx.x), filter = filter0 + item % kSlab, sum = item / kSlab;
  const bool is_bias = sum == kTaps;
  const bool counts = sum < kSums && filter < filters && (!is_bias || c.has_bias);
  const int element = is_bias ? filter : sum * filters + filter;
  ElementUpdate update;
  if (gridDim.x == 1 && counts) update.begin(updates, is_bias ? 1 : 0, element);
  float own = add_rows(kGradWarps, parts, [&](unsigned row, unsigned four) {
    return reinterpret_cast<const float4*>(parts)[row * kFours + four];
  });
  if (gridDim.x > 1) {
    float* const partials = c.partials + int64_t(blockIdx.y) * gridDim.x * kItems;
    if (item < kItems) partials[int64_t(blockIdx.x) * kItems + item] = own;
    if (!is_last_block(c.counter + blockIdx.y, gridDim.x)) return;
    if (counts) update.begin(updates, is_bias ? 1 : 0, element);
    own = add_rows(gridDim.x, parts, [&](unsigned row, unsigned four) {
      return __ldcg(reinterpret_cast<const float4*>(partials) + row * kFours + four);
    });
  }
  if (counts)
    update.end(updates, is_bias ? 1 : 0, element, own,
               static_cast<T*>(is_bias ? c.bias_out : c.out));
}

// Two blocks a multiprocessor, if there is work for so many.
unsigned grad_blocks(const ConvShape& s) {
  return blocks_for(Pooled(s).tiles, kGradWarps, std::max(1U, 132 * 2 / Pooled(s).slabs));
}

}  // namespace

bool is_tensor_stem(const ConvShape& s, DType dtype) {
  if ((dtype != DType::float16 && dtype != DType::bfloat16) || !is_pooled_stem(s, dtype))
    return false;
  int64_t longest = std::max(s.out_width, s.out_height) / 2;
  int64_t pixels = int64_t(s.batch) * s.height * s.width;
  return pixels * longest < int64_t(1) << 32 && pixels < int64_t(1) << 31;
}

void run_tensor_stem(const DirectConv& call, FewLayouts layouts, cudaStream_t stream) {
  Pooled pooled(call.shape);
  unsigned across = blocks_for(pooled.tiles, kBlock / 32, std::max(1U, 132 * 2 / pooled.slabs));
  unsigned grid = unsigned(layouts.cut(kLayoutTile)) + across * pooled.slabs;
  visit_half(call.dtype, [&]<class T>(T) {
    if (call.wide_x)
      tensor_stem<T, float><<<grid, kBlock, 0, stream>>>(call, pooled, layouts);
    else
      tensor_stem<T, T><<<grid, kBlock, 0, stream>>>(call, pooled, layouts);
  });
  check_launch("tensor_stem");
}

size_t tensor_stem_partial_bytes(const ConvShape& s) {
  return size_t(grad_blocks(s)) * Pooled(s).slabs * kSums * kSlab * sizeof(float);
}

size_t tensor_stem_counter_bytes(const ConvShape& s) { return Pooled(s).slabs * sizeof(unsigned); }

void run_tensor_stem_weight_grad(const DirectConv& call, const FewUpdates& updates,
                                 cudaStream_t stream) {
  dim3 grid(grad_blocks(call.shape), Pooled(call.shape).slabs);
  Pooled pooled(call.shape);
  visit_half(call.dtype, [&]<class T>(T) {
    if (call.wide_x)
      tensor_stem_weight_grad<T, float><<<grid, kGradThreads, 0, stream>>>(call, pooled, updates);
    else
      tensor_stem_weight_grad<T, T><<<grid, kGradThreads, 0, stream>>>(call, pooled, updates);
  });
  check_launch("tensor_stem_weight_grad");
}

}  // namespace stoker::cuda
