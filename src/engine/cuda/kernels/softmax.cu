#include "engine/cuda/kernels/softmax.h"

#include "engine/cuda/kernels/divisor.cuh"

namespace stoker::cuda {

namespace {

__device__ inline int64_t label_at(const SoftmaxCall& c, int64_t row) {
  int64_t label = c.second_dtype == DType::int32 ? static_cast<const int32_t*>(c.second)[row]
                                                 : static_cast<const int64_t*>(c.second)[row];
  return label >= 0 && label < c.classes ? label : 0;
}

template <class T>
__device__ inline float second_at(const SoftmaxCall& c, int64_t at) {
  if (c.second_dtype == c.dtype) return to_float(static_cast<const T*>(c.second)[at]);
  if (c.second_dtype == DType::float32) return static_cast<const float*>(c.second)[at];
  if (c.second_dtype == DType::float16) return to_float(static_cast<const Half*>(c.second)[at]);
  return to_float(static_cast<const Bfloat*>(c.second)[at]);
}

// To the digits that a result of T keeps.
template <class T>
__device__ inline float exp_for(float x) {
  if constexpr (sizeof(T) == 4)
    return expf(x);
  else
    return __expf(x);
}

struct Normalizer {
  float most, log_sum;  // log Σ exp(x) = most + log_sum: apart, so that x - most keeps its digits
};

// Every op, over a row that gives each number of x and of the second operand, and takes results:
//   row.most(value), row.sum(value)     over value(x, second, column)
//   row.put(value)                      result at each column
//   row.at(column)                      x
//   row.leads()                         whether this thread writes a result of the row
template <class T, class Row>
__device__ void softmax_row(const SoftmaxCall& c, int64_t index, Row& row) {
  auto normalizer = [&] {
    float most = row.most([](float x, auto, int) { return x; });
    float sum = row.sum([=](float x, auto, int) { return exp_for<T>(x - most); });
    return Normalizer{most, logf(sum)};
  };
  float* loss = static_cast<float*>(c.out) + index;
  switch (c.op) {
    case SoftmaxOp::softmax: {
      Normalizer n = normalizer();
      return row.put([=](float x, auto, int) { return exp_for<T>(x - n.most - n.log_sum); });
    }
    case SoftmaxOp::log_softmax: {
      Normalizer n = normalizer();
      return row.put([=](float x, auto, int) { return x - n.most - n.log_sum; });
    }
    case SoftmaxOp::softmax_grad: {
      float product = row.sum([](float x, auto second, int) { return second() * x; });
      return row.put([=](float x, auto second, int) { return x * (second() - product); });
    }
    case SoftmaxOp::log_softmax_grad: {
      float sum = row.sum([](float, auto second, int) { return second(); });
      return row.put([=](float x, auto second, int) { return second() - exp_for<T>(x) * sum; });
    }
    case SoftmaxOp::sparse_loss: {
      Normalizer n = normalizer();
      if (row.leads()) *loss = n.log_sum - (row.at(label_at(c, index)) - n.most);
      return;
    }
    case SoftmaxOp::sparse_loss_grad: {
      Normalizer n = normalizer();
      auto label = int(label_at(c, index));
      float slope = c.third[index];
      return row.put([=](float x, auto, int column) {
        return slope * (exp_for<T>(x - n.most - n.log_sum) - float(column == label));
      });
    }
    case SoftmaxOp::loss: {
      Normalizer n = normalizer();
      float total =
          row.sum([=](float x, auto second, int) { return second() * (x - n.most - n.log_sum); });
      if (row.leads()) *loss = -total;
      return;
    }
    case SoftmaxOp::loss_grad: {
      Normalizer n = normalizer();
      float slope = c.third[index];
      float sum = row.sum([](float, auto second, int) { return second(); });
      return row.put([=](float x, auto second, int) {
        return slope * (sum * exp_for<T>(x - n.most - n.log_sum) - second());
      });
    }
  }
}

__device__ __host__ inline bool has_second_numbers(SoftmaxOp op) {
  return op == SoftmaxOp::softmax_grad || op == SoftmaxOp::log_softmax_grad ||
         op == SoftmaxOp::loss || op == SoftmaxOp::loss_grad;
}

// --- rows that shared memory holds: memory is read once ---

// A warp's or a block's row. A thread reads what it has copied itself, so that nothing waits but
// sums. Rows need not begin at sixteen bytes: vectors at their ends hold neighbours as well.
template <class T, int Warps>
struct HeldRow {
  static constexpr int kWide = kLanes<T>;
  using Vector = Pack<T, kWide>;
  const SoftmaxCall& c;
  int64_t first;
  int before, vectors;  // before: numbers in the first vector that are not the row's
  const Vector *x, *second = nullptr;

  __device__ HeldRow(const SoftmaxCall& call, int64_t row, Vector* memory, int pitch)
      : c(call),
        first(row * call.classes),
        before(int(first % kWide)),
        vectors(int((before + call.classes + kWide - 1) / kWide)),
        x(memory) {
    copy(memory, c.x);
    if (c.holds_second) {
      second = memory + pitch;
      copy(memory + pitch, c.second);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
  }
  __device__ static int thread() { return int(threadIdx.x) % (Warps == 1 ? 32 : 1024); }
  __device__ static int threads() { return Warps == 1 ? 32 : int(blockDim.x); }
  __device__ void copy(Vector* to, const void* matrix) const {
    const T* from = static_cast<const T*>(matrix) + first - before;
    for (int v = thread(); v < vectors; v += threads())
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       unsigned(__cvta_generic_to_shared(to + v))),
                   "l"(from + int64_t(v) * kWide)
                   : "memory");
  }
  // use(vector, i, x, second, column); done(vector) after each vector.
  template <class Use, class Done>
  __device__ void each(Use use, Done done) {
    for (int v = thread(); v < vectors; v += threads()) {
      const Vector numbers = x[v], others = second != nullptr ? second[v] : Vector();
#pragma unroll
      for (int i = 0; i < kWide; ++i) {
        const int column = v * kWide - before + i;
        if (unsigned(column) >= unsigned(c.classes)) continue;
        auto other = [&, i, column] {
          return second != nullptr ? to_float(others.at[i]) : second_at<T>(c, first + column);
        };
        use(i, to_float(numbers.at[i]), other, column);
      }
      done(v);
    }
  }
  template <class Combine>
  __device__ static float over_row(float value, float start, Combine combine) {
    if constexpr (Warps == 1) {
      for (int offset = 16; offset > 0; offset /= 2)
        value = combine(value, __shfl_xor_sync(~0U, value, offset));
      return value;
    } else {
      return block_reduce(value, start, combine);
    }
  }
  template <class Value>
  __device__ float most(Value value) {
    float found = -INFINITY;
    each([&](int, float number, auto other,
             int column) { found = fmaxf(found, value(number, other, column)); },
         [](int) {});
    return over_row(found, -INFINITY, Larger());
  }
  template <class Value>
  __device__ float sum(Value value) {
    float total = 0;
    each([&](int, float number, auto other,
             int column) { total += value(number, other, column); },
         [](int) {});
    return over_row(total, 0.0F, Plus());
  }
  template <class Value>
  __device__ void put(Value value) {
    Vector results;
    each([&](int i, float number, auto other,
             int column) { results.at[i] = from_float<T>(value(number, other, column)); },
         [&](int v) { store(v, results); });
  }
  __device__ void store(int v, const Vector& results) const {
    const int column = v * kWide - before;
    T* to = static_cast<T*>(c.out) + first + column;
    if (column >= 0 && column + kWide <= c.classes) {
      *reinterpret_cast<Vector*>(to) = results;
    } else {
#pragma unroll
      for (int i = 0; i < kWide; ++i)
        if (unsigned(column + i) < unsigned(c.classes)) to[i] = results.at[i];
    }
  }
  __device__ float at(int64_t column) const {
    return to_float(static_cast<const T*>(c.x)[first + column]);
  }
  __device__ bool leads() const { return thread() == 0; }
};

constexpr int kWarpRows = 4;  // of a block, where a warp has a row

// `pitch`: vectors of a row in shared memory.
template <class T, int Warps>
__global__ void softmax_held(const __grid_constant__ SoftmaxCall c, int pitch) {
  using Held = HeldRow<T, Warps>;
  extern __shared__ uint4 memory[];
  auto* mine = reinterpret_cast<typename Held::Vector*>(memory);
  int64_t row = blockIdx.x;
  if constexpr (Warps == 1) {
    row = row * kWarpRows + threadIdx.x / 32;
    if (row >= c.rows) return;
    mine += int64_t(threadIdx.x / 32) * pitch * (c.holds_second ? 2 : 1);
  }
  Held held(c, row, mine, pitch);
  softmax_row<T>(c, row, held);
}

// --- longer rows: read again for every pass ---

template <class T>
struct LongRow {
  const SoftmaxCall& c;
  int64_t first;

  __device__ LongRow(const SoftmaxCall& call, int64_t row) : c(call), first(row * call.classes) {}
  template <class Use>
  __device__ void each(Use use) {
    for (int64_t i = threadIdx.x; i < c.classes; i += blockDim.x)
      use(at(i), [&, i] { return second_at<T>(c, first + i); }, int(i));
  }
  template <class Value>
  __device__ float most(Value value) {
    float found = -INFINITY;
    each([&](float x, auto other, int column) { found = fmaxf(found, value(x, other, column)); });
    return block_reduce(found, -INFINITY, Larger());
  }
  template <class Value>
  __device__ float sum(Value value) {
    float total = 0;
    each([&](float x, auto other, int column) { total += value(x, other, column); });
    return block_reduce(total, 0.0F, Plus());
  }
  template <class Value>
  __device__ void put(Value value) {
    each([&](float x, auto other, int column) {
      static_cast<T*>(c.out)[first + column] = from_float<T>(value(x, other, column));
    });
  }
  __device__ float at(int64_t column) const {
    return to_float(static_cast<const T*>(c.x)[first + column]);
  }
  __device__ bool leads() const { return threadIdx.x == 0; }
};

template <class T>
__global__ void softmax_long(const __grid_constant__ SoftmaxCall c) {
  LongRow<T> row(c, blockIdx.x);
  softmax_row<T>(c, blockIdx.x, row);
}

// --- few classes: many rows go through shared memory, a thread has whole rows ---

constexpr int kFewClasses = 32, kFewThreads = 256;
constexpr int kFewNumbers = 4096;  // of a tile, for each operand

struct ShortRow {
  const SoftmaxCall& c;
  float* x;             // in shared memory
  const float* second;  // in shared memory

  __device__ auto other(int i) const {
    return [this, i] { return second[i]; };
  }
  template <class Value>
  __device__ float most(Value value) {
    float found = -INFINITY;
    for (int i = 0; i < int(c.classes); ++i) found = fmaxf(found, value(x[i], other(i), i));
    return found;
  }
  template <class Value>
  __device__ float sum(Value value) {
    float total = 0;
    for (int i = 0; i < int(c.classes); ++i) total += value(x[i], other(i), i);
    return total;
  }
  template <class Value>
  __device__ void put(Value value) {
    for (int i = 0; i < int(c.classes); ++i) x[i] = value(x[i], other(i), i);
  }
  __device__ float at(int64_t column) const { return x[column]; }
  __device__ bool leads() const { return true; }
};

// Rows of a tile: a multiple of eight, so that every tile begins at sixteen bytes.
inline int few_rows(const SoftmaxCall& c) {
  int rows = int(kFewNumbers / (c.classes | 1)) / 8 * 8;
  return std::min(rows, 4 * kFewThreads);
}

// `count` numbers of a tile from memory or to it, sixteen bytes a thread where that is possible.
template <class T, class Use>
__device__ inline void each_of_tile(int count, Use use) {
  constexpr int kWide = kLanes<T>;
  for (int at = int(threadIdx.x) * kWide; at < count; at += kFewThreads * kWide) {
    if (at + kWide <= count)
      use(at, std::integral_constant<int, kWide>());
    else
      for (int i = at; i < count; ++i) use(i, std::integral_constant<int, 1>());
  }
}

// Shared memory has an odd number of floats a row: no two rows of a warp share a bank.
template <class T>
__global__ void __launch_bounds__(kFewThreads)
    softmax_few(const __grid_constant__ SoftmaxCall c, int tile_rows, Divisor by_classes) {
  extern __shared__ float tiles[];
  const int classes = int(c.classes), pitch = classes | 1;
  const int64_t row0 = int64_t(blockIdx.x) * tile_rows, first = row0 * classes;
  const int rows = int(min(int64_t(tile_rows), c.rows - row0)), count = rows * classes;
  float *x = tiles, *second = tiles + tile_rows * pitch;
  auto place = [&](int at) {
    return at + int(by_classes.divide(unsigned(at))) * (pitch - classes);
  };
  each_of_tile<T>(count, [&]<int N>(int at, std::integral_constant<int, N>) {
    float numbers[N];
    load_floats<N>(static_cast<const T*>(c.x) + first + at, numbers);
#pragma unroll
    for (int i = 0; i < N; ++i) x[place(at + i)] = numbers[i];
  });
  if (has_second_numbers(c.op))
    for (int at = int(threadIdx.x); at < count; at += kFewThreads)
      second[place(at)] = second_at<T>(c, first + at);
  __syncthreads();
  for (int row = int(threadIdx.x); row < rows; row += kFewThreads) {
    ShortRow mine{c, x + row * pitch, second + row * pitch};
    softmax_row<T>(c, row0 + row, mine);
  }
  if (c.op == SoftmaxOp::sparse_loss || c.op == SoftmaxOp::loss) return;
  __syncthreads();
  each_of_tile<T>(count, [&]<int N>(int at, std::integral_constant<int, N>) {
    float numbers[N];
#pragma unroll
    for (int i = 0; i < N; ++i) numbers[i] = x[place(at + i)];
    store_floats<N>(numbers, static_cast<T*>(c.out) + first + at);
  });
}

template <class T>
void launch_few(const SoftmaxCall& c, cudaStream_t stream) {
  int rows = few_rows(c);
  size_t bytes = size_t(rows) * size_t(c.classes | 1) * sizeof(float) *
                 (has_second_numbers(c.op) ? 2 : 1);
  softmax_few<T><<<blocks_for(c.rows, rows), kFewThreads, bytes, stream>>>(c, rows,
                                                                           Divisor(int(c.classes)));
}

constexpr int kMostShared = 220 * 1024;

// Whether it fits.
template <class T>
bool launch_held(SoftmaxCall c, cudaStream_t stream) {
  constexpr int64_t kWide = kLanes<T>, kOfWarp = 1024;
  int64_t pitch = (c.classes + 2 * kWide - 2) / kWide, bytes = pitch * 16;
  bool warps = c.classes <= kOfWarp;
  c.holds_second = has_second_numbers(c.op) && c.second_dtype == c.dtype;
  if (!warps && 2 * bytes > kMostShared) c.holds_second = false;
  bytes *= (c.holds_second ? 2 : 1) * (warps ? kWarpRows : 1);
  if (bytes > kMostShared) return false;
  auto launch = [&](auto kernel, unsigned blocks, unsigned threads) {
    if (bytes > 48 * 1024)
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
            "shared memory for softmax");
    kernel<<<blocks, threads, size_t(bytes), stream>>>(c, int(pitch));
  };
  unsigned threads = c.classes <= 4096 ? 128 : c.classes <= 16384 ? 256 : 1024;
  if (warps)
    launch(softmax_held<T, 1>, blocks_for(c.rows, kWarpRows), kWarpRows * 32);
  else
    launch(softmax_held<T, 32>, unsigned(c.rows), threads);
  return true;
}

}  // namespace

void run_softmax(const SoftmaxCall& call, cudaStream_t stream) {
  if (call.rows == 0) return;
  visit_float(call.dtype, [&]<class T>(T) {
    if (call.classes <= kFewClasses)
      launch_few<T>(call, stream);
    else if (!launch_held<T>(call, stream))
      softmax_long<T><<<unsigned(call.rows), 1024, 0, stream>>>(call);
  });
  check_launch("softmax");
}

}  // namespace stoker::cuda
