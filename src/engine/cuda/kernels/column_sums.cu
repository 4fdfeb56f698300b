#include "engine/cuda/kernels/column_sums.h"

#include "engine/cuda/kernels/norm_math.cuh"
#include "engine/cuda/kernels/rows.cuh"

namespace stoker::cuda {

namespace {

constexpr int kThreads = 512;  // one block a multiprocessor
constexpr int kWarps = kThreads / 32;

// Where dy comes from: it is given; it is the sum of two; and a second batch norm takes that too.
enum class Source : uint8_t { given, joined, shared };

template <ColumnSums What, ReluMask Mask, class T, int N, Source From>
struct Sums {
  static constexpr bool kGradients = What == ColumnSums::gradients;
  static constexpr bool kJoins = From != Source::given, kShares = From == Source::shared;
  static constexpr int kLanes = N;
  static constexpr int kCount = What == ColumnSums::sum ? 1 : kShares ? 3 : 2;
  static constexpr int kRows = kShares ? 2 : kGradients ? 4 : 8;  // in flight

  // What a row is made of, as it lies in memory.
  struct Row {
    Raw<T, N> x, dy, y, second, other;
    uint8_t bits;
  };

  const ColumnCall& c;
  float sums[kCount][N] = {}, shift[N] = {}, other_shift[N] = {};
  NormValue<T, N> norm;  // for the mask

  __device__ explicit Sums(const ColumnCall& call) : c(call) {}

  // What the sums need to know of their channels.
  __device__ void begin(int64_t channel) {
    if constexpr (What == ColumnSums::statistics) {
      const T* x = static_cast<const T*>(c.x);
      if (c.period == 0)
        load_floats<N>(x + channel, shift);
      else
        for (int i = 0; i < N; ++i) shift[i] = to_float(x[(int(channel) + i) % c.period]);
    }
    if constexpr (kGradients) load_channels(c.mean, channel, c.period, shift);
    if constexpr (kShares) load_channels(c.other.mean, channel, c.period, other_shift);
    if constexpr (Mask == ReluMask::from_x)
      norm.load({c.mean, c.variance, c.gamma, c.beta, c.epsilon, c.period}, channel);
  }

  __device__ static void load(const void* from, int64_t at, bool there, Raw<T, N>& to) {
    load_raw<T, N>(static_cast<const T*>(from) + at, there, to);
  }

  __device__ void load(int64_t at, bool there, Row& row) const {
    load(c.x, at, there, row.x);
    if constexpr (kJoins) {
      load(c.dy, at, there, row.dy);
      load(c.second_dy, at, there, row.second);
    } else if constexpr (kGradients) {
      load(c.dy, at, there, row.dy);
    }
    if constexpr (Mask == ReluMask::from_y) load(c.y, at, there, row.y);
    if constexpr (Mask == ReluMask::from_bits) row.bits = there ? c.bits[at / N] : uint8_t(0);
    if constexpr (kShares) load(c.other.x, at, there, row.other);
  }

  __device__ bool counts(const Row& row, int i, float x) const {
    if constexpr (Mask == ReluMask::from_y) return to_float(unpack<T, N>(row.y).at[i]) > 0;
    if constexpr (Mask == ReluMask::from_x) return norm.of(i, x) > 0;
    if constexpr (Mask == ReluMask::from_bits) return (row.bits >> i & 1) != 0;
    return true;
  }

  __device__ void add(int64_t at, bool there, const Row& row) {
    Pack<T, N> x = unpack<T, N>(row.x), joined;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float value = to_float(x.at[i]), moved = value - shift[i];
      if constexpr (!kGradients) {
        moved = there && counts(row, i, value) ? moved : 0;
        sums[0][i] += moved;
        if constexpr (What == ColumnSums::statistics) sums[1][i] += moved * moved;
      } else {
        float slope = to_float(unpack<T, N>(row.dy).at[i]);
        if constexpr (kJoins) slope += to_float(unpack<T, N>(row.second).at[i]);
        slope = counts(row, i, value) ? slope : 0;
        if constexpr (kJoins) {
          // As an op of its own would store it.
          joined.at[i] = from_float<T>(slope);
          slope = to_float(joined.at[i]);
        }
        sums[0][i] += slope;
        sums[1][i] += slope * moved;
        if constexpr (kShares)
          sums[kCount - 1][i] += slope * (to_float(unpack<T, N>(row.other).at[i]) - other_shift[i]);
      }
    }
    if constexpr (kJoins)
      if (there) *reinterpret_cast<Pack<T, N>*>(static_cast<T*>(c.dz) + at) = joined;
  }

  // Every step-th row from `first` on, kRows of them in flight.
  __device__ void add_rows(int64_t first, int64_t step, int64_t channel) {
    const int64_t stride = step * c.channels;
    int64_t at = first * c.channels + channel;
    for (int64_t row = first; row < c.rows; row += step * kRows, at += stride * kRows) {
      Row rows[kRows];
#pragma unroll
      for (int u = 0; u < kRows; ++u) load(at + u * stride, row + u * step < c.rows, rows[u]);
#pragma unroll
      for (int u = 0; u < kRows; ++u) add(at + u * stride, row + u * step < c.rows, rows[u]);
    }
  }

  // The sums over all rows of one channel become results.
  __device__ void finish(int64_t channel, const double* found) const {
    if constexpr (What == ColumnSums::sum) {
      static_cast<T*>(c.out)[channel] = from_float<T>(float(found[0]));
    } else if constexpr (What == ColumnSums::statistics) {
      const double samples = double(c.rows * c.plan.fold), mean = found[0] / samples;
      float first = to_float(static_cast<const T*>(c.x)[channel]);
      static_cast<float*>(c.out)[channel] = float(double(first) + mean);
      double variance = found[1] / samples - mean * mean;
      c.second_out[channel] = float(variance < 0 ? 0 : variance);  // NaN passes
    } else {
      static_cast<float*>(c.out)[channel] = float(found[0]);
      c.second_out[channel] = float(found[1]) / sqrtf(c.variance[channel] + c.epsilon);
      if constexpr (kShares) {
        c.other.dbeta[channel] = float(found[0]);
        c.other.dgamma[channel] =
            float(found[kCount - 1]) / sqrtf(c.other.variance[channel] + c.other.epsilon);
      }
    }
  }
};

// The last block of all adds what belongs to a channel: its places in the folded rows, of every
// split, in a fixed order. Groups of threads divide them; `totals` has a place per thread.
template <class Mine>
__device__ inline void finish_folded(const Mine& mine, double* totals) {
  const ColumnCall& c = mine.c;
  constexpr int kSums = Mine::kCount;
  const int width = c.plan.columns * Mine::kLanes, items = kSums * width, splits = int(gridDim.y);
  const int channels = min(c.period, kThreads / kSums), groups = kThreads / (channels * kSums);
  const int slot = int(threadIdx.x) % (channels * kSums),
            group = int(threadIdx.x) / (channels * kSums);
  const float* partials = static_cast<const float*>(c.partials);
  for (int first = 0; first < c.period; first += channels) {
    const int channel = first + slot % channels, sum = slot / channels;
    double total = 0;
    if (group < groups && channel < c.period)
#pragma unroll 8
      for (int part = group; part < c.plan.fold * splits; part += groups) {
        const int place = part / splits * c.period + channel, slab = place / width;
        total += double(
            __ldcg(partials +
                   (size_t(slab) * unsigned(splits) + unsigned(part % splits)) * unsigned(items) +
                   sum * width + place % width));
      }
    __syncthreads();
    totals[threadIdx.x] = total;
    __syncthreads();
    if (int(threadIdx.x) >= channels || channel >= c.period) continue;
    double found[kSums] = {};
#pragma unroll
    for (int s = 0; s < kSums; ++s)
      for (int g = 0; g < groups; ++g)
        found[s] += totals[(g * kSums + s) * channels + int(threadIdx.x)];
    mine.finish(channel, found);
  }
}

template <ColumnSums What, ReluMask Mask, class T, int N, Source From>
__global__ void __launch_bounds__(kThreads, 1) column_sums(const __grid_constant__ ColumnCall c) {
  using Mine = Sums<What, Mask, T, N, From>;
  constexpr int kSums = Mine::kCount;
  const int columns = c.plan.columns, height = kThreads / columns;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int64_t channel = (int64_t(blockIdx.x) * columns + threadIdx.x % unsigned(columns)) * N;
  Mine mine(c);
  if (channel < c.channels) {
    mine.begin(channel);
    mine.add_rows(int64_t(blockIdx.y) * height + threadIdx.x / unsigned(columns),
                  int64_t(gridDim.y) * height, channel);
  }

  // Over the block: lanes of a warp that share a column, then the warps.
  constexpr int kMostWidth = N == 1 ? 32 : 8 * N;
  __shared__ float parts[kWarps][kSums * kMostWidth];
  __shared__ double totals[kThreads];
  __shared__ bool last;
  const int width = columns * N, items = kSums * width;  // channels and sums of a block
#pragma unroll
  for (int s = 0; s < kSums; ++s)
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float value = mine.sums[s][i];
      for (int offset = 16; offset >= columns; offset /= 2)
        value += __shfl_xor_sync(~0U, value, offset);
      if (lane < columns) parts[warp][s * width + lane * N + i] = value;
    }
  __syncthreads();
  float* partials = static_cast<float*>(c.partials) + size_t(blockIdx.x) * gridDim.y * items;
  for (int item = int(threadIdx.x); item < items; item += kThreads) {
    float total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) total += parts[w][item];
    partials[size_t(blockIdx.y) * items + item] = total;
  }

  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // all that the block has written, by the barrier before it
    // Of this slab's blocks or, where channels are spread over slabs, of all.
    const bool all = c.period > 0;
    unsigned* counter = c.counters + (all ? 0 : blockIdx.x);
    last = atomicAdd(counter, 1U) == (all ? gridDim.x * gridDim.y : gridDim.y) - 1;
    if (last) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  if (c.period > 0) return finish_folded(mine, totals);
  // Groups of threads add every so many-th partial; then one thread an item adds the groups.
  const int groups = kThreads / items;
  int item = int(threadIdx.x) % items, group = int(threadIdx.x) / items;
  double total = 0;
  if (group < groups)
#pragma unroll 16
    for (unsigned split = unsigned(group); split < gridDim.y; split += unsigned(groups))
      total += double(__ldcg(partials + size_t(split) * items + item));
  totals[threadIdx.x] = total;
  __syncthreads();
  for (int channel_of = int(threadIdx.x); channel_of < width; channel_of += kThreads) {
    int64_t at = int64_t(blockIdx.x) * width + channel_of;
    if (at >= c.channels) continue;
    double found[kSums] = {};
#pragma unroll
    for (int s = 0; s < kSums; ++s)
      for (int g = 0; g < groups; ++g) found[s] += totals[g * items + s * width + channel_of];
    mine.finish(at, found);
  }
}

template <ColumnSums What, ReluMask Mask, Source From = Source::given>
void launch(const ColumnCall& call, cudaStream_t stream) {
  with_lanes(call.dtype, call.channels, [&]<class T, class N>(T, N) {
    dim3 grid(call.plan.slabs, call.plan.splits);
    column_sums<What, Mask, T, N::value, From><<<grid, kThreads, 0, stream>>>(call);
  });
  check_launch("column_sums");
}

void launch_gradients(const ColumnCall& call, cudaStream_t stream) {
  constexpr auto kWhat = ColumnSums::gradients;
  bool joins = call.dz != nullptr;
  switch (call.mask) {
    case ReluMask::none:
      return launch<kWhat, ReluMask::none>(call, stream);
    case ReluMask::from_y:
      return launch<kWhat, ReluMask::from_y>(call, stream);
    case ReluMask::from_x:
      return joins ? launch<kWhat, ReluMask::from_x, Source::joined>(call, stream)
                   : launch<kWhat, ReluMask::from_x>(call, stream);
    case ReluMask::from_bits:
      return call.other.x != nullptr
                 ? launch<kWhat, ReluMask::from_bits, Source::shared>(call, stream)
                 : launch<kWhat, ReluMask::from_bits, Source::joined>(call, stream);
  }
}

}  // namespace

ColumnPlan plan_columns(DType dtype, int64_t rows, int64_t channels) {
  ColumnPlan plan;
  plan.fold = int(fold_of(dtype, rows, channels));
  rows /= plan.fold;
  channels *= plan.fold;
  plan.lanes = lanes_for(dtype, channels);
  int most = plan.lanes == 1 ? 32 : 8;
  while (plan.columns < most && plan.columns * plan.lanes < channels) plan.columns *= 2;
  plan.slabs = blocks_for(channels, int64_t(plan.columns) * plan.lanes);
  // One block a multiprocessor, each thread with at least four rows.
  int64_t rounds = int64_t(kThreads / plan.columns) * 4;
  plan.splits = blocks_for(rows, rounds, std::max(1U, 132 / plan.slabs));
  constexpr size_t kMostSums = 3;
  plan.partial_bytes = size_t(plan.slabs) * plan.splits * kMostSums *
                       size_t(plan.columns * plan.lanes) * sizeof(float);
  plan.counter_bytes = plan.slabs * sizeof(unsigned);
  return plan;
}

size_t relu_bits_bytes(DType dtype, int64_t rows, int64_t channels) {
  return size_t(rows * channels / lanes_for(dtype, channels * fold_of(dtype, rows, channels)));
}

void run_column_sums(const ColumnCall& given, cudaStream_t stream) {
  ColumnCall call = given;
  if (call.plan.fold > 1) {
    call.period = int(call.channels);
    call.rows /= call.plan.fold;
    call.channels *= call.plan.fold;
  }
  switch (call.what) {
    case ColumnSums::statistics:
      return launch<ColumnSums::statistics, ReluMask::none>(call, stream);
    case ColumnSums::sum:
      return call.mask == ReluMask::from_y ? launch<ColumnSums::sum, ReluMask::from_y>(call, stream)
                                           : launch<ColumnSums::sum, ReluMask::none>(call, stream);
    case ColumnSums::gradients:
      return launch_gradients(call, stream);
  }
}

}  // namespace stoker::cuda
