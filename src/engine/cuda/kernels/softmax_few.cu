// Softmax over few classes: many rows go through shared memory, a thread has whole rows.
#include "engine/cuda/kernels/softmax.cuh"

namespace stoker::cuda {

namespace {

constexpr int kFewThreads = 256, kFewBytes = 16384;  // of a tile, for an operand

// A tile as it lies in memory, but for a word between 128 bytes and the next, so that rows of a
// power of two do not share their banks.
template <class T>
struct FewTile {
  char* bytes;

  __device__ static int place(int at) { return at + (at >> 7) * 4; }
  __device__ T* element(int at) const {
    return reinterpret_cast<T*>(bytes + place(at * int(sizeof(T))));
  }
  // word(at) for each word, sixteen bytes per thread, from memory or to it.
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

}  // namespace

void run_softmax_few(const SoftmaxCall& call, cudaStream_t stream) {
  visit_float(call.dtype, [&]<class T>(T) { launch_few<T>(call, stream); });
  check_launch("softmax over few classes");
}

}  // namespace stoker::cuda
