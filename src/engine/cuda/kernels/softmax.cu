#include "engine/cuda/kernels/softmax.cuh"

namespace stoker::cuda {

namespace {

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
      // Most vectors lie wholly in the row: that case is compiled without tests.
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
  if (call.classes <= kFewClasses) return run_softmax_few(call, stream);
  visit_float(call.dtype, [&]<class T>(T) {
    if (!launch_held<T>(call, stream))
      softmax_long<T><<<unsigned(call.rows), 1024, 0, stream>>>(call);
  });
  check_launch("softmax");
}

}  // namespace stoker::cuda
