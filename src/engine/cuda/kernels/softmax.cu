#include "engine/cuda/kernels/softmax.h"

#include "engine/cuda/kernels/common.cuh"

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

// A row of eight threads, a warp or a block (Threads: 0). A thread reads what it has copied itself, so that nothing waits but
// sums. Rows need not begin at sixteen bytes: vectors at their ends hold neighbours as well.
template <class T, int Threads>
struct HeldRow {
  static constexpr int kWide = kLanes<T>;
  using Vector = RawPack<T, kWide>;
  const SoftmaxCall& c;
  bool mine;  // else there is no such row, and its threads only go along
  int64_t first;
  int before, vectors;  // before: numbers in the first vector that are not the row's
  const Vector *x, *second = nullptr;

  __device__ HeldRow(const SoftmaxCall& call, int64_t row, Vector* memory, int pitch)
      : c(call),
        mine(row < call.rows),
        first(min(row, call.rows - 1) * call.classes),
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
  __device__ static int thread() { return int(threadIdx.x) % (Threads > 0 ? Threads : 1024); }
  __device__ static int threads() { return Threads > 0 ? Threads : int(blockDim.x); }
  __device__ void copy(Vector* to, const void* matrix) const {
    const T* from = static_cast<const T*>(matrix) + first - before;
    for (int v = thread(); v < vectors; v += threads())
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       unsigned(__cvta_generic_to_shared(to + v))),
                   "l"(from + int64_t(v) * kWide)
                   : "memory");
  }
  // use(i, x, second, column); done(vector) after each vector.
  template <class Use, class Done>
  __device__ void each(Use use, Done done) {
    for (int v = thread(); v < vectors; v += threads()) {
      float numbers[kWide], others[kWide];
      to_floats<T, kWide>(x[v], numbers);
      if (second != nullptr) to_floats<T, kWide>(second[v], others);
      const int column = v * kWide - before;
      auto each_of = [&](auto inside) {
#pragma unroll
        for (int i = 0; i < kWide; ++i) {
          if (!inside(column + i)) continue;
          auto other = [&, i] {
            return second != nullptr ? others[i] : second_at<T>(c, first + column + i);
          };
          use(i, numbers[i], other, column + i);
        }
      };
      // Of most vectors all are the row's, which the compiler is told.
      if (column >= 0 && column + kWide <= c.classes)
        each_of([](int) { return true; });
      else
        each_of([&](int at) { return unsigned(at) < unsigned(c.classes); });
      done(v);
    }
  }
  template <class Combine>
  __device__ static float over_row(float value, float start, Combine combine) {
    if constexpr (Threads > 0) {
      for (int offset = Threads / 2; offset > 0; offset /= 2)
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
    each([&](int, float number, auto other, int column) { total += value(number, other, column); },
         [](int) {});
    return over_row(total, 0.0F, Plus());
  }
  template <class Value>
  __device__ void put(Value value) {
    float results[kWide];
    each([&](int i, float number, auto other,
             int column) { results[i] = value(number, other, column); },
         [&](int v) { store(v, results); });
  }
  __device__ void store(int v, const float (&results)[kWide]) const {
    if (!mine) return;
    const int column = v * kWide - before;
    T* to = static_cast<T*>(c.out) + first + column;
    if (column >= 0 && column + kWide <= c.classes) {
      store_floats<kWide>(results, to);
    } else {
#pragma unroll
      for (int i = 0; i < kWide; ++i)
        if (unsigned(column + i) < unsigned(c.classes)) to[i] = from_float<T>(results[i]);
    }
  }
  __device__ float at(int64_t column) const {
    return to_float(static_cast<const T*>(c.x)[first + column]);
  }
  __device__ bool leads() const { return mine && thread() == 0; }
};

constexpr int kHeldThreads = 128;  // of a block with several rows

// `pitch`: vectors of a row in shared memory.
template <class T, int Threads>
__global__ void softmax_held(const __grid_constant__ SoftmaxCall c, int pitch) {
  using Held = HeldRow<T, Threads>;
  extern __shared__ uint4 memory[];
  auto* mine = reinterpret_cast<typename Held::Vector*>(memory);
  int64_t row = blockIdx.x;
  if constexpr (Threads > 0) {
    const int of_block = int(threadIdx.x) / Threads;
    row = row * (kHeldThreads / Threads) + of_block;
    mine += int64_t(of_block) * pitch * (c.holds_second ? 2 : 1);
  }
  Held held(c, row, mine, pitch);
  softmax_row<T>(c, min(row, c.rows - 1), held);
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
      use(
          at(i), [&, i] { return second_at<T>(c, first + i); }, int(i));
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

constexpr int kFewClasses = 32, kFewThreads = 256, kFewBytes = 16384;  // of a tile, for an operand

// A tile as it lies in memory, but for a word between 128 bytes and the next, so that rows of a
// power of two do not share their banks.
template <class T>
struct FewTile {
  char* bytes;

  __device__ static int place(int at) { return at + (at >> 7) * 4; }
  __device__ T* element(int at) const {
    return reinterpret_cast<T*>(bytes + place(at * int(sizeof(T))));
  }
  // word(at) for each word, sixteen bytes a thread from memory or to it.
  __device__ void load(const void* from, int count) {
    const auto* vectors = static_cast<const uint4*>(from);
    for (int v = int(threadIdx.x); v * 16 < count; v += kFewThreads) {
      if (v * 16 + 16 <= count) {
        auto* words = reinterpret_cast<uint32_t*>(bytes + place(v * 16));
        const uint4 four = vectors[v];
        words[0] = four.x;
        words[1] = four.y;
        words[2] = four.z;
        words[3] = four.w;
      } else {
        for (int at = v * 16; at < count; at += int(sizeof(T)))
          *element(at / int(sizeof(T))) = static_cast<const T*>(from)[at / int(sizeof(T))];
      }
    }
  }
  __device__ void store(void* to, int count) const {
    auto* vectors = static_cast<uint4*>(to);
    for (int v = int(threadIdx.x); v * 16 < count; v += kFewThreads) {
      if (v * 16 + 16 <= count) {
        const auto* words = reinterpret_cast<const uint32_t*>(bytes + place(v * 16));
        vectors[v] = make_uint4(words[0], words[1], words[2], words[3]);
      } else {
        for (int at = v * 16; at < count; at += int(sizeof(T)))
          static_cast<T*>(to)[at / int(sizeof(T))] = *element(at / int(sizeof(T)));
      }
    }
  }
};

template <class T>
struct ShortRow {
  const SoftmaxCall& c;
  FewTile<T> x, second;
  int first;  // in the tile
  int64_t first_of_all;

  __device__ auto other(int i) const {
    return [this, i] {
      return c.holds_second ? to_float(*second.element(first + i))
                            : second_at<T>(c, first_of_all + i);
    };
  }
  template <class Value>
  __device__ float most(Value value) {
    float found = -INFINITY;
    for (int i = 0; i < int(c.classes); ++i) found = fmaxf(found, value(at(i), other(i), i));
    return found;
  }
  template <class Value>
  __device__ float sum(Value value) {
    float total = 0;
    for (int i = 0; i < int(c.classes); ++i) total += value(at(i), other(i), i);
    return total;
  }
  template <class Value>
  __device__ void put(Value value) {
    for (int i = 0; i < int(c.classes); ++i)
      *x.element(first + i) = from_float<T>(value(at(i), other(i), i));
  }
  __device__ float at(int64_t column) const { return to_float(*x.element(first + int(column))); }
  __device__ bool leads() const { return true; }
};

template <class T>
__global__ void __launch_bounds__(kFewThreads)
    softmax_few(const __grid_constant__ SoftmaxCall c, int tile_rows) {
  __shared__ alignas(16) char tiles[2][kFewBytes / 128 * 132];
  const int classes = int(c.classes);
  const int64_t row0 = int64_t(blockIdx.x) * tile_rows, first = row0 * classes;
  const int rows = int(min(int64_t(tile_rows), c.rows - row0));
  const int bytes = rows * classes * int(sizeof(T));
  FewTile<T> x{tiles[0]}, second{tiles[1]};
  x.load(static_cast<const T*>(c.x) + first, bytes);
  if (c.holds_second) second.load(static_cast<const T*>(c.second) + first, bytes);
  __syncthreads();
  for (int row = int(threadIdx.x); row < rows; row += kFewThreads) {
    ShortRow<T> mine{c, x, second, row * classes, first + int64_t(row) * classes};
    softmax_row<T>(c, row0 + row, mine);
  }
  if (c.op == SoftmaxOp::sparse_loss || c.op == SoftmaxOp::loss) return;
  __syncthreads();
  x.store(static_cast<T*>(c.out) + first, bytes);
}

// Tiles have a multiple of eight rows, so that each begins at sixteen bytes.
template <class T>
void launch_few(SoftmaxCall c, cudaStream_t stream) {
  int rows = std::min(kFewBytes / (int(c.classes) * int(sizeof(T))) / 8 * 8, 2 * kFewThreads);
  c.holds_second = has_second_numbers(c.op) && c.second_dtype == c.dtype;
  softmax_few<T><<<blocks_for(c.rows, rows), kFewThreads, 0, stream>>>(c, rows);
}

constexpr int kMostShared = 220 * 1024;

// Whether it fits.
template <class T>
bool launch_held(SoftmaxCall c, cudaStream_t stream) {
  constexpr int64_t kWide = kLanes<T>;
  const int64_t pitch = (c.classes + 2 * kWide - 2) / kWide;
  // Threads of a row: about four vectors each.
  const int threads = c.classes <= 32 * kWide ? 8 : c.classes <= 128 * kWide ? 32 : 0;
  const int rows = threads > 0 ? kHeldThreads / threads : 1;
  c.holds_second =
      has_second_numbers(c.op) && c.second_dtype == c.dtype && 2 * pitch * 16 * rows <= kMostShared;
  const int64_t bytes = pitch * 16 * rows * (c.holds_second ? 2 : 1);
  if (bytes > kMostShared) return false;
  auto launch = [&](auto kernel, unsigned block) {
    if (bytes > 48 * 1024)
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
            "shared memory for softmax");
    kernel<<<blocks_for(c.rows, rows), block, size_t(bytes), stream>>>(c, int(pitch));
  };
  if (threads == 8)
    launch(softmax_held<T, 8>, kHeldThreads);
  else if (threads == 32)
    launch(softmax_held<T, 32>, kHeldThreads);
  else
    launch(softmax_held<T, 0>, pitch < 1024 ? 128 : pitch < 3072 ? 256 : 1024);
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
