// What the kernels of attention share. Each block owns some rows of one head and walks along the columns, tile by tile, with
// running sums in registers. Dims beyond kDims are walked in chunks, and each chunk of a result has blocks of its own, which
// compute the scores again.
#pragma once

#include "base/philox.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/attention_tiles.cuh"

namespace stoker::cuda {

// One head's matrix [length, dim] within a tensor.
template <class T>
struct HeadView {
  T* data;
  int64_t pitch;  // numbers from row to row
  int length, dim;
};

template <class T>
__device__ HeadView<T> head_of(T* data, int64_t batch, int64_t head, int64_t pitch, int64_t length,
                               int64_t dim) {
  return {data + batch * length * pitch + head * dim, pitch, int(length), int(dim)};
}

// Copies rows from `row`, dims from `first` on to shared memory; zeros beyond the ends.
template <class Tiles, int kCount>
__device__ void stage_rows(typename Tiles::Element* to,
                           const HeadView<const typename Tiles::Element>& from, int row,
                           int first) {
  using T = typename Tiles::Element;
  constexpr int kVector = kLanes<T>;
  bool whole = from.dim % kVector == 0 && from.pitch % kVector == 0 &&
               reinterpret_cast<uintptr_t>(from.data) % sizeof(uint4) == 0;
  constexpr int kParts = Tiles::kDims / kVector;
  for (int i = int(threadIdx.x); i < kCount * kParts; i += Tiles::kThreads) {
    int r = i / kParts, c = i % kParts * kVector;
    T* target = to + r * Tiles::kPitch + c;
    const T* source = from.data + int64_t(row + r) * from.pitch + first + c;
    bool inside = row + r < from.length;
    if (whole) {
      uint4 bits = {};
      if (inside && first + c < from.dim) bits = *reinterpret_cast<const uint4*>(source);
      *reinterpret_cast<uint4*>(target) = bits;
    } else {
      for (int e = 0; e < kVector; ++e)
        target[e] = inside && first + c + e < from.dim ? source[e] : from_float<T>(0);
    }
  }
}

// What a kernel is compiled for: the numbers that dropout draws take most of its code.
enum class Extras : uint8_t { none, mask, dropout };  // dropout: with a mask or without

inline Extras extras_of(const AttentionCall& c) {
  return c.rate > 0 ? Extras::dropout : c.mask != nullptr ? Extras::mask : Extras::none;
}

// What masks, biases and dropout do to the weights of one head.
template <class T>
class AttentionWeights {
 public:
  __device__ AttentionWeights(const AttentionCall& c, int64_t batch, int64_t head) : c_(c) {
    row0_ = (batch * c.heads + head) * c.queries;
    mask0_ = batch * c.mask_strides[0] + head * c.mask_strides[1];
    if (c.rate > 0) {
      seed_ = uint64_t(c.state[0]);
      stream_ = uint64_t(c.state[1]) * 65536 + uint64_t(c.stream_number);
      least_ = uint32_t(ceil(c.rate * 0x1p24));
      kept_ = float(1 / (1 - c.rate));
    }
  }
  // Turns products into scores; -infinity: the key is not seen. query(e), key(e): whose element e is.
  // Masks are read without conditions, so that many loads are in flight.
  template <Extras kExtras, int kCount, class Query, class Key>
  __device__ void score(float (&products)[kCount], Query query, Key key) const {
    auto each = [&](auto change) {
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        const int q = query(e), k = key(e);
        float score = products[e] * c_.scale;
        bool seen = k < int(c_.keys) && q < int(c_.queries) && !(c_.causal && k > q);
        change(min(q, int(c_.queries) - 1), min(k, int(c_.keys) - 1), score, seen);
        products[e] = seen ? score : -INFINITY;
      }
    };
    if (kExtras == Extras::none || c_.mask == nullptr) return each([](int, int, float&, bool&) {});
    auto at = [&](int q, int k) {
      return mask0_ + q * c_.mask_strides[2] + k * c_.mask_strides[3];
    };
    if (c_.bias)
      each([&](int q, int k, float& score, bool& seen) {
        const float bias = to_float(static_cast<const T*>(c_.mask)[at(q, k)]);
        score += bias;
        seen &= bias != -INFINITY;
      });
    else
      each([&](int q, int k, float&, bool& seen) {
        seen &= static_cast<const uint8_t*>(c_.mask)[at(q, k)] != 0;
      });
  }
  // What dropout multiplies a weight with.
  template <Extras kExtras>
  __device__ float kept(int query, int key) const {
    if constexpr (kExtras != Extras::dropout) return 1;
    auto element = uint64_t((row0_ + query) * c_.keys + key);
    PhiloxBlock bits = random_block(seed_, stream_, element / 4);
    return (bits[element % 4] >> 8) >= least_ ? kept_ : 0.0F;
  }

 private:
  const AttentionCall& c_;
  int64_t row0_, mask0_;
  uint64_t seed_ = 0, stream_ = 0;
  uint32_t least_ = 0;
  float kept_ = 1;
};

// Shared memory: `count` tiles, then what multiply_add exchanges.
template <class Tiles>
struct AttentionMemory {
  using T = typename Tiles::Element;
  static constexpr int kRowTile = Tiles::kRows * Tiles::kPitch;
  static constexpr int kColumnTile = Tiles::kColumns * Tiles::kPitch;
  static constexpr int bytes(int row_tiles, int column_tiles) {
    return int(sizeof(T)) * (row_tiles * kRowTile + column_tiles * kColumnTile) +
           Tiles::kWeightBytes + 2 * Tiles::kColumns * int(sizeof(float));
  }
};

template <class Tiles>
__device__ int warp_row() {
  return int(threadIdx.x) / 32 * Tiles::kWarpRows;
}

// scores = rows · columnsᵀ over all dims. Where one chunk has them all, the rows are already staged.
template <class Tiles>
__device__ void all_scores(typename Tiles::Scores& scores,
                           const HeadView<const typename Tiles::Element>& rows, int row,
                           typename Tiles::Element* row_tile,
                           const HeadView<const typename Tiles::Element>& columns, int column,
                           typename Tiles::Element* column_tile) {
#pragma unroll
  for (int e = 0; e < Tiles::kScores; ++e) scores[e] = 0;
  for (int first = 0; first < rows.dim; first += Tiles::kDims) {
    if (rows.dim > Tiles::kDims) {
      __syncthreads();
      stage_rows<Tiles, Tiles::kRows>(row_tile, rows, row, first);
      stage_rows<Tiles, Tiles::kColumns>(column_tile, columns, column, first);
      __syncthreads();
    }
    Tiles::multiply_turned(scores, row_tile + warp_row<Tiles>() * Tiles::kPitch, column_tile);
  }
}

template <class Tiles>
__device__ void store_rows(const typename Tiles::Sums& sums, const float* factors,
                           const HeadView<typename Tiles::Element>& to, int row, int first) {
  using T = typename Tiles::Element;
#pragma unroll
  for (int e = 0; e < Tiles::kSums; ++e) {
    int r = row + warp_row<Tiles>() + Tiles::own_row(Tiles::sum_own(e));
    int c = first + Tiles::sum_column(e);
    if (r < to.length && c < to.dim)
      to.data[int64_t(r) * to.pitch + c] = from_float<T>(sums[e] * factors[Tiles::sum_own(e)]);
  }
}

struct RowsPlace {
  int64_t batch, head;
  int row, first;  // of the block's rows; of the chunk of dims it makes
};

// The grid is flat: tiles of rows within heads within chunks within the batch. Tiles come in the
// order of falling work: `backwards` where the last rows see most.
template <class Tiles>
__device__ RowsPlace rows_of_block(int64_t rows, int64_t heads, int64_t dim, bool backwards) {
  auto chunks = unsigned((dim + Tiles::kDims - 1) / Tiles::kDims);
  auto tiles = unsigned((rows + Tiles::kRows - 1) / Tiles::kRows);
  unsigned tile = blockIdx.x % tiles, outer = blockIdx.x / tiles;
  unsigned head = outer % unsigned(heads), chunk = outer / unsigned(heads) % chunks;
  return {int64_t(outer / unsigned(heads) / chunks), int64_t(head),
          int(backwards ? tiles - 1 - tile : tile) * Tiles::kRows, int(chunk) * Tiles::kDims};
}

// --- launches ---

template <class Tiles, class Kernel>
void launch_attention(Kernel kernel, const AttentionCall& c, int64_t rows, int64_t heads,
                      int64_t dim, int row_tiles, cudaStream_t stream) {
  int bytes = AttentionMemory<Tiles>::bytes(row_tiles, 2);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "attention's shared memory");
  int64_t chunks = (dim + Tiles::kDims - 1) / Tiles::kDims;
  int64_t blocks = blocks_for(rows, Tiles::kRows) * heads * c.batch * chunks;
  if (blocks > std::numeric_limits<int32_t>::max())
    fail("attention", "more blocks than a grid has");
  kernel<<<unsigned(blocks), Tiles::kThreads, unsigned(bytes), stream>>>(c);
  check_launch("attention");
}

// function(tiles) with the tiles for a call's dtype and dims.
template <class Function>
void visit_tiles(const AttentionCall& c, Function function) {
  bool small = std::max(c.dim, c.value_dim) <= 64;
  if (c.dtype == DType::float32)
    small ? function(PlainTiles<64>()) : function(PlainTiles<128>());
  else if (c.dtype == DType::float16)
    small ? function(TensorTiles<Half, 64>()) : function(TensorTiles<Half, 128>());
  else
    small ? function(TensorTiles<Bfloat, 64>()) : function(TensorTiles<Bfloat, 128>());
}

}  // namespace stoker::cuda
