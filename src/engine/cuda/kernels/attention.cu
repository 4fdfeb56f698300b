// Three kernels of one form. A block owns some rows of one head and walks along the columns, tile by tile, with running
// sums in registers: the result (rows: queries), dq (queries), dk and dv (keys). Dims beyond kDims are walked in chunks,
// and each chunk of a result has blocks of its own, which compute the scores again.
#include "base/philox.h"
#include "engine/cuda/kernels/attention.h"
#include "engine/cuda/kernels/attention_tiles.cuh"

namespace stoker::cuda {

namespace {

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
__device__ void stage(typename Tiles::Element* to,
                      const HeadView<const typename Tiles::Element>& from, int row, int first) {
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

// What masks, biases and dropout do to the weights of one head.
template <class T>
class Weights {
 public:
  __device__ Weights(const AttentionCall& c, int64_t batch, int64_t head) : c_(c) {
    row0_ = (batch * c.heads + head) * c.queries;
    mask0_ = batch * c.mask_strides[0] + head * c.mask_strides[1];
    if (c.rate > 0) {
      seed_ = uint64_t(c.state[0]);
      stream_ = uint64_t(c.state[1]) * 65536 + uint64_t(c.stream_number);
      least_ = uint32_t(ceil(c.rate * 0x1p24));
      kept_ = float(1 / (1 - c.rate));
    }
  }
  // The score of a pair; -infinity: the key is not seen.
  template <bool kExtras>
  __device__ float score(float product, int query, int key) const {
    bool seen = key < c_.keys && query < c_.queries && !(c_.causal && key > query);
    float score = product * c_.scale;
    if constexpr (kExtras)
      if (c_.mask != nullptr && seen) {
        int64_t at = mask0_ + query * c_.mask_strides[2] + key * c_.mask_strides[3];
        if (c_.bias) {
          float bias = to_float(static_cast<const T*>(c_.mask)[at]);
          score += bias;
          seen = bias != -INFINITY;
        } else {
          seen = static_cast<const bool*>(c_.mask)[at];
        }
      }
    return seen ? score : -INFINITY;
  }
  // What dropout multiplies a weight with.
  template <bool kExtras>
  __device__ float kept(int query, int key) const {
    if constexpr (!kExtras) return 1;
    if (c_.rate == 0) return 1;
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
struct Shared {
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
      stage<Tiles, Tiles::kRows>(row_tile, rows, row, first);
      stage<Tiles, Tiles::kColumns>(column_tile, columns, column, first);
      __syncthreads();
    }
    Tiles::multiply_turned(scores, row_tile + warp_row<Tiles>() * Tiles::kPitch, column_tile);
  }
}

template <class Tiles>
__device__ void store(const typename Tiles::Sums& sums, const float* factors,
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

struct Place {
  int64_t batch, head;
  int row, first;  // of the block's rows; of the chunk of dims it makes
};

// The grid is flat: tiles of rows within heads within chunks within the batch. Tiles come in the
// order of falling work: `backwards` where the last rows see most.
template <class Tiles>
__device__ Place place_of(int64_t rows, int64_t heads, int64_t dim, bool backwards) {
  auto chunks = unsigned((dim + Tiles::kDims - 1) / Tiles::kDims);
  auto tiles = unsigned((rows + Tiles::kRows - 1) / Tiles::kRows);
  unsigned tile = blockIdx.x % tiles, outer = blockIdx.x / tiles;
  unsigned head = outer % unsigned(heads), chunk = outer / unsigned(heads) % chunks;
  return {int64_t(outer / unsigned(heads) / chunks), int64_t(head),
          int(backwards ? tiles - 1 - tile : tile) * Tiles::kRows, int(chunk) * Tiles::kDims};
}

template <class Tiles, bool kExtras>
__global__ void __launch_bounds__(Tiles::kThreads)
    forward(const __grid_constant__ AttentionCall c) {
  using T = typename Tiles::Element;
  extern __shared__ __align__(16) char memory[];
  T* q_tile = reinterpret_cast<T*>(memory);
  T* k_tile = q_tile + Shared<Tiles>::kRowTile;
  T* v_tile = k_tile + Shared<Tiles>::kColumnTile;
  void* exchange = v_tile + Shared<Tiles>::kColumnTile;
  auto [batch, head, row, first] =
      place_of<Tiles>(c.queries, c.heads, max(c.value_dim, int64_t(1)), true);
  int64_t kv = head / (c.heads / c.kv_heads);
  auto q = head_of(static_cast<const T*>(c.q), batch, head, c.q_pitch, c.queries, c.dim);
  auto k = head_of(static_cast<const T*>(c.k), batch, kv, c.k_pitch, c.keys, c.dim);
  auto v = head_of(static_cast<const T*>(c.v), batch, kv, c.v_pitch, c.keys, c.value_dim);
  Weights<T> weights(c, batch, head);
  typename Tiles::Sums sums;
#pragma unroll
  for (float& sum : sums) sum = 0;
  float most[Tiles::kOwnRows], total[Tiles::kOwnRows];
#pragma unroll
  for (int r = 0; r < Tiles::kOwnRows; ++r) {
    most[r] = -INFINITY;
    total[r] = 0;
  }
  int end = c.causal ? min(int(c.keys), row + Tiles::kRows) : int(c.keys);
  bool staged = c.dim <= Tiles::kDims;
  if (staged) stage<Tiles, Tiles::kRows>(q_tile, q, row, 0);
  for (int column = 0; column < end; column += Tiles::kColumns) {
    __syncthreads();
    if (staged) stage<Tiles, Tiles::kColumns>(k_tile, k, column, 0);
    stage<Tiles, Tiles::kColumns>(v_tile, v, column, first);
    __syncthreads();
    typename Tiles::Scores scores;
    all_scores<Tiles>(scores, q, row, q_tile, k, column, k_tile);
    float next[Tiles::kOwnRows];
#pragma unroll
    for (int r = 0; r < Tiles::kOwnRows; ++r) next[r] = most[r];
#pragma unroll
    for (int e = 0; e < Tiles::kScores; ++e) {
      int own = Tiles::own(e), query = row + warp_row<Tiles>() + Tiles::own_row(own);
      scores[e] = weights.template score<kExtras>(scores[e], query, column + Tiles::column(e));
      next[own] = max_or_nan(next[own], scores[e]);
    }
    float shrink[Tiles::kOwnRows];
#pragma unroll
    for (int r = 0; r < Tiles::kOwnRows; ++r) {
      next[r] = Tiles::over_row(next[r], [](float a, float b) { return max_or_nan(a, b); });
      float base = next[r] == -INFINITY ? 0 : next[r];
      shrink[r] = Tiles::exponential(most[r] - base);
      total[r] *= shrink[r];
      most[r] = next[r];
      next[r] = base;
    }
#pragma unroll
    for (int e = 0; e < Tiles::kSums; ++e) sums[e] *= shrink[Tiles::sum_own(e)];
#pragma unroll
    for (int e = 0; e < Tiles::kScores; ++e) {
      int own = Tiles::own(e);
      float weight = Tiles::exponential(scores[e] - next[own]);
      total[own] += weight;
      scores[e] = weight;
      if constexpr (kExtras) {
        int query = row + warp_row<Tiles>() + Tiles::own_row(own);
        if (weight != 0) scores[e] *= weights.template kept<true>(query, column + Tiles::column(e));
      }
    }
    Tiles::multiply_add(sums, scores, v_tile, exchange);
  }
  float factors[Tiles::kOwnRows];
#pragma unroll
  for (int r = 0; r < Tiles::kOwnRows; ++r) {
    total[r] = Tiles::over_row(total[r], Plus());
    factors[r] = total[r] == 0 ? 0 : 1 / total[r];
    int query = row + warp_row<Tiles>() + Tiles::own_row(r);
    if (first == 0 && query < c.queries)
      c.lse[(batch * c.heads + head) * c.queries + query] =
          total[r] == 0 ? 0 : most[r] + logf(total[r]);
  }
  store<Tiles>(
      sums, factors,
      head_of(static_cast<T*>(c.out), batch, head, c.heads * c.value_dim, c.queries, c.value_dim),
      row, first);
}

// --- gradient ---

// delta: the sum of dout · out over the dims. A warp per row.
template <class T>
__global__ void __launch_bounds__(kBlock) row_products(const __grid_constant__ AttentionCall c) {
  int64_t row = (int64_t(blockIdx.x) * kBlock + threadIdx.x) / 32;  // of [batch, queries, heads]
  if (row >= c.batch * c.queries * c.heads) return;
  const T* out = static_cast<const T*>(c.out) + row * c.value_dim;
  const T* dout = static_cast<const T*>(c.dout) + row * c.value_dim;
  float sum = 0;
  for (int64_t i = threadIdx.x % 32; i < c.value_dim; i += 32)
    sum += to_float(out[i]) * to_float(dout[i]);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0U, sum, offset);
  int64_t head = row % c.heads, query = row / c.heads % c.queries,
          batch = row / c.heads / c.queries;
  if (threadIdx.x % 32 == 0) c.delta[(batch * c.heads + head) * c.queries + query] = sum;
}

// Rows: queries.
template <class Tiles, bool kExtras>
__global__ void __launch_bounds__(Tiles::kThreads)
    query_grad(const __grid_constant__ AttentionCall c) {
  using T = typename Tiles::Element;
  extern __shared__ __align__(16) char memory[];
  T* q_tile = reinterpret_cast<T*>(memory);
  T* d_tile = q_tile + Shared<Tiles>::kRowTile;
  T* k_tile = d_tile + Shared<Tiles>::kRowTile;
  T* v_tile = k_tile + Shared<Tiles>::kColumnTile;
  void* exchange = v_tile + Shared<Tiles>::kColumnTile;
  auto [batch, head, row, first] = place_of<Tiles>(c.queries, c.heads, c.dim, true);
  int64_t kv = head / (c.heads / c.kv_heads);
  auto q = head_of(static_cast<const T*>(c.q), batch, head, c.q_pitch, c.queries, c.dim);
  auto d = head_of(static_cast<const T*>(c.dout), batch, head, c.heads * c.value_dim, c.queries,
                   c.value_dim);
  auto k = head_of(static_cast<const T*>(c.k), batch, kv, c.k_pitch, c.keys, c.dim);
  auto v = head_of(static_cast<const T*>(c.v), batch, kv, c.v_pitch, c.keys, c.value_dim);
  Weights<T> weights(c, batch, head);
  float lse[Tiles::kOwnRows], delta[Tiles::kOwnRows];
#pragma unroll
  for (int r = 0; r < Tiles::kOwnRows; ++r) {
    int query = min(row + warp_row<Tiles>() + Tiles::own_row(r), int(c.queries) - 1);
    int64_t at = (batch * c.heads + head) * c.queries + query;
    lse[r] = c.lse[at];
    delta[r] = c.delta[at];
  }
  typename Tiles::Sums sums;
#pragma unroll
  for (float& sum : sums) sum = 0;
  int end = c.causal ? min(int(c.keys), row + Tiles::kRows) : int(c.keys);
  bool q_staged = c.dim <= Tiles::kDims, d_staged = c.value_dim <= Tiles::kDims;
  if (q_staged) stage<Tiles, Tiles::kRows>(q_tile, q, row, 0);
  if (d_staged) stage<Tiles, Tiles::kRows>(d_tile, d, row, 0);
  for (int column = 0; column < end; column += Tiles::kColumns) {
    __syncthreads();
    if (q_staged) stage<Tiles, Tiles::kColumns>(k_tile, k, column, 0);
    if (d_staged) stage<Tiles, Tiles::kColumns>(v_tile, v, column, 0);
    __syncthreads();
    typename Tiles::Scores scores, through;
    all_scores<Tiles>(scores, q, row, q_tile, k, column, k_tile);
    all_scores<Tiles>(through, d, row, d_tile, v, column, v_tile);
#pragma unroll
    for (int e = 0; e < Tiles::kScores; ++e) {
      int own = Tiles::own(e), query = row + warp_row<Tiles>() + Tiles::own_row(own);
      int key = column + Tiles::column(e);
      float score = weights.template score<kExtras>(scores[e], query, key);
      float weight = Tiles::exponential(score - lse[own]);
      float kept = weight == 0 ? 0 : weights.template kept<kExtras>(query, key);
      scores[e] = score == -INFINITY ? 0 : weight * (kept * through[e] - delta[own]);
    }
    if (!q_staged) {
      __syncthreads();
      stage<Tiles, Tiles::kColumns>(k_tile, k, column, first);
      __syncthreads();
    }
    Tiles::multiply_add(sums, scores, k_tile, exchange);
  }
  float factors[Tiles::kOwnRows];
#pragma unroll
  for (float& factor : factors) factor = c.scale;
  store<Tiles>(sums, factors,
               head_of(static_cast<T*>(c.dq), batch, head, c.q_pitch, c.queries, c.dim), row,
               first);
}

// Rows: keys. Heads that share them are walked one after another.
template <class Tiles, bool kExtras>
__global__ void __launch_bounds__(Tiles::kThreads)
    key_grad(const __grid_constant__ AttentionCall c) {
  using T = typename Tiles::Element;
  extern __shared__ __align__(16) char memory[];
  T* k_tile = reinterpret_cast<T*>(memory);
  T* v_tile = k_tile + Shared<Tiles>::kRowTile;
  T* q_tile = v_tile + Shared<Tiles>::kRowTile;
  T* d_tile = q_tile + Shared<Tiles>::kColumnTile;
  float* lse = reinterpret_cast<float*>(d_tile + Shared<Tiles>::kColumnTile);
  float* delta = lse + Tiles::kColumns;
  void* exchange = delta + Tiles::kColumns;
  auto [batch, kv, row, first] =
      place_of<Tiles>(c.keys, c.kv_heads, max(c.dim, c.value_dim), false);
  auto k = head_of(static_cast<const T*>(c.k), batch, kv, c.k_pitch, c.keys, c.dim);
  auto v = head_of(static_cast<const T*>(c.v), batch, kv, c.v_pitch, c.keys, c.value_dim);
  typename Tiles::Sums k_sums, v_sums;
#pragma unroll
  for (int e = 0; e < Tiles::kSums; ++e) k_sums[e] = v_sums[e] = 0;
  bool k_staged = c.dim <= Tiles::kDims, v_staged = c.value_dim <= Tiles::kDims;
  if (k_staged) stage<Tiles, Tiles::kRows>(k_tile, k, row, 0);
  if (v_staged) stage<Tiles, Tiles::kRows>(v_tile, v, row, 0);
  int begin = c.causal ? row / Tiles::kColumns * Tiles::kColumns : 0;
  int64_t group = c.heads / c.kv_heads;
  for (int64_t head = kv * group; head < (kv + 1) * group; ++head) {
    auto q = head_of(static_cast<const T*>(c.q), batch, head, c.q_pitch, c.queries, c.dim);
    auto d = head_of(static_cast<const T*>(c.dout), batch, head, c.heads * c.value_dim, c.queries,
                     c.value_dim);
    Weights<T> weights(c, batch, head);
    for (int column = begin; column < c.queries; column += Tiles::kColumns) {
      __syncthreads();
      if (k_staged) stage<Tiles, Tiles::kColumns>(q_tile, q, column, 0);
      if (v_staged) stage<Tiles, Tiles::kColumns>(d_tile, d, column, 0);
      if (int i = int(threadIdx.x); i < Tiles::kColumns) {
        int64_t at = (batch * c.heads + head) * c.queries + min(column + i, int(c.queries) - 1);
        lse[i] = c.lse[at];
        delta[i] = c.delta[at];
      }
      __syncthreads();
      typename Tiles::Scores scores, through;
      all_scores<Tiles>(scores, k, row, k_tile, q, column, q_tile);
      all_scores<Tiles>(through, v, row, v_tile, d, column, d_tile);
#pragma unroll
      for (int e = 0; e < Tiles::kScores; ++e) {
        int key = row + warp_row<Tiles>() + Tiles::own_row(Tiles::own(e));
        int place = Tiles::column(e), query = column + place;
        float score = weights.template score<kExtras>(scores[e], query, key);
        float weight = Tiles::exponential(score - lse[place]);
        float kept = weight == 0 ? 0 : weights.template kept<kExtras>(query, key);
        scores[e] = weight * kept;
        through[e] = score == -INFINITY ? 0 : weight * (kept * through[e] - delta[place]);
      }
      if (!k_staged || !v_staged) {
        __syncthreads();
        if (!k_staged) stage<Tiles, Tiles::kColumns>(q_tile, q, column, first);
        if (!v_staged) stage<Tiles, Tiles::kColumns>(d_tile, d, column, first);
        __syncthreads();
      }
      Tiles::multiply_add(v_sums, scores, d_tile, exchange);
      Tiles::multiply_add(k_sums, through, q_tile, exchange);
    }
  }
  float factors[Tiles::kOwnRows];
#pragma unroll
  for (float& factor : factors) factor = 1;
  if (first < c.value_dim)
    store<Tiles>(v_sums, factors,
                 head_of(static_cast<T*>(c.dv), batch, kv, c.v_pitch, c.keys, c.value_dim), row,
                 first);
#pragma unroll
  for (float& factor : factors) factor = c.scale;
  if (first < c.dim)
    store<Tiles>(k_sums, factors,
                 head_of(static_cast<T*>(c.dk), batch, kv, c.k_pitch, c.keys, c.dim), row, first);
}

// --- launches ---

template <class Tiles, class Kernel>
void launch(Kernel kernel, const AttentionCall& c, int64_t rows, int64_t heads, int64_t dim,
            int row_tiles, cudaStream_t stream) {
  int bytes = Shared<Tiles>::bytes(row_tiles, 2);
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

}  // namespace

void run_attention(const AttentionCall& call, cudaStream_t stream) {
  if (call.batch * call.heads * call.queries == 0) return;
  bool extras = call.mask != nullptr || call.rate > 0;
  visit_tiles(call, [&]<class Tiles>(Tiles) {
    launch<Tiles>(extras ? forward<Tiles, true> : forward<Tiles, false>, call, call.queries,
                  call.heads, std::max<int64_t>(call.value_dim, 1), 1, stream);
  });
}

void run_attention_grad(const AttentionCall& call, cudaStream_t stream) {
  if (call.batch * call.heads == 0) return;
  bool extras = call.mask != nullptr || call.rate > 0;
  int64_t rows = call.batch * call.heads * call.queries;
  visit_tiles(call, [&]<class Tiles>(Tiles) {
    if (rows > 0) {
      row_products<typename Tiles::Element>
          <<<blocks_for(rows * 32, kBlock), kBlock, 0, stream>>>(call);
      launch<Tiles>(extras ? query_grad<Tiles, true> : query_grad<Tiles, false>, call, call.queries,
                    call.heads, call.dim, 2, stream);
    }
    if (call.keys > 0)
      launch<Tiles>(extras ? key_grad<Tiles, true> : key_grad<Tiles, false>, call, call.keys,
                    call.kv_heads, std::max(call.dim, call.value_dim), 2, stream);
  });
}

}  // namespace stoker::cuda
