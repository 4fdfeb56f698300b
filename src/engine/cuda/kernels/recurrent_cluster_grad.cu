#include "engine/cuda/kernels/recurrent_cluster.cuh"

namespace stoker::cuda {

namespace {

// Gradients of a block's gates, twice; sums of products on their way to a cell, by block, group and
// fragment, twice; operands, kAhead steps of them.
template <int kScale, int kTiles>
struct BackwardShared {
  static constexpr int kMostBlocks = 4 * kScale, kGateBytes = 8 * 128 * 2;
  static constexpr int kPartBytes = kMostBlocks * kTileBytes;
  static constexpr int kParts = 2 * kTiles * kGateBytes;
  static constexpr int kOperands = kParts + 2 * kTiles * kPartBytes;
  static constexpr int kBarriers = kOperands + kAhead * kTiles * BackwardTile::kBytes;
  static constexpr int kBytes = kBarriers + 2 * kTiles * 8;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// The place of eight gates of a row in a tile [8, 128], in bytes: eight rows of a chunk lie in
// different banks.
__device__ inline int gate_offset(int row, int chunk) {
  return row * 128 * 2 + ((chunk ^ row) << 4);
}

// Rows of the recurrent kernel, 16 units each, by the block's own columns: [gates, 32].
template <class T, int kCell, int kScale>
__device__ void load_rows(const RecurrentCluster& p, const ClusterPlace& me,
                          unsigned (&w)[kScale][2 * kClusterGates<kCell>][4]) {
  const T* from = static_cast<const T*>(p.recurrent);
  int64_t columns = int64_t(kClusterGates<kCell>) * p.units;
  auto at = [&](int to, int column) {
    int unit = me.rank * RecurrentCluster::kUnits + column % RecurrentCluster::kUnits;
    bool is_there = to < p.units && unit < p.units;
    return is_there ? from[to * columns + column / RecurrentCluster::kUnits * p.units + unit]
                    : from_float<T>(0);
  };
#pragma unroll
  for (int tile = 0; tile < kScale; ++tile)
#pragma unroll
    for (int step = 0; step < 2 * kClusterGates<kCell>; ++step)
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        int to = (me.warp * kScale + tile) * 16 + me.fragment_row + part % 2 * 8;
        int column = step * 16 + me.fragment_column * 2 + part / 2 * 8;
        w[tile][step][part] = pack(at(to, column), at(to, column + 1));
      }
}

// Number i of lane j of a quad becomes number j of lane i. What travels has 16 bits: its rounding
// is as large as that of the gradients in the product.
template <class T>
__device__ inline uint2 turn_quad(const float* numbers, int lane) {
  bool odd = lane & 1, high = lane & 2;
  unsigned first = pack<T>(numbers[0], numbers[1]), second = pack<T>(numbers[2], numbers[3]);
  unsigned other = __shfl_xor_sync(~0U, high ? first : second, 2);
  unsigned a = high ? other : first, b = high ? second : other;  // of lanes j % 2 and j % 2 + 2
  other = __shfl_xor_sync(~0U, odd ? permute(a, b, 0x5410) : permute(a, b, 0x7632), 1);
  return odd ? make_uint2(permute(other, a, 0x7610), permute(other, b, 0x7632))
             : make_uint2(permute(a, other, 0x5410), permute(b, other, 0x7610));
}

// A thread's cells on their way back.
template <class T, int kCell, int kTiles>
struct BackwardCells : ClusterCells {
  static constexpr int kGates = kClusterGates<kCell>;
  static constexpr bool kIsLstm = kCell == RecurrentCluster::kLstm;
  float dh[kTiles], dc[kTiles], repeated[kTiles], c[kTiles];
  float bias[4] = {};
  bool counts[kTiles];  // the next step

  __device__ BackwardCells(const RecurrentCluster& call, const ClusterPlace& me)
      : ClusterCells(call, me) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      bool has = is_there(tile);
      int64_t at = state_of(tile);
      dh[tile] = has ? to_float(static_cast<const T*>(p.dlast_h)[at]) : 0.0F;
      dc[tile] = kIsLstm && has ? to_float(static_cast<const T*>(p.dlast_c)[at]) : 0.0F;
      c[tile] = kIsLstm && has ? p.inner[step_of(tile, p.length - 1) * p.units + unit] : 0.0F;
      repeated[tile] = 0;
    }
    look_at_mask(p.length - 1);
  }
  __device__ void look_at_mask(int step) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
      counts[tile] =
          p.mask == nullptr || step < 0 || !is_there(tile) || p.mask[step_of(tile, step)];
  }

  // to: by gate; the last one of a gru: of the candidate's part from h · R.
  __device__ void run(int tile, int step, const char* operands, float product, float (&to)[4]) {
    float total = dh[tile] + product;
    float dy = number(operands + BackwardTile::kDy);
    float inner = *reinterpret_cast<const float*>(operands + BackwardTile::kWide + wide_place);
    if (kIsLstm && step == 0)
      inner = is_there(tile) ? to_float(static_cast<const T*>(p.c)[state_of(tile)]) : 0.0F;
    to[0] = to[1] = to[2] = to[3] = 0;
    if (!is_there(tile)) return;  // zeros of the kernel would make NaN of an infinity
    if (!counts[tile]) {
      dh[tile] = total;
      if (!p.zero_masked) repeated[tile] += dy;
    } else {
      float gradient = total + dy + repeated[tile];
      repeated[tile] = 0;
      differentiate(tile, operands, inner, gradient, to);
    }
    if constexpr (kIsLstm) c[tile] = inner;
#pragma unroll
    for (int gate = 0; gate < 4; ++gate) bias[gate] += to[gate];
  }
  __device__ float number(const char* tile) const {
    return to_float(*reinterpret_cast<const T*>(tile + place));
  }

  __device__ void differentiate(int tile, const char* operands, float inner, float gradient,
                                float (&to)[4]) {
    float a[kGates];
#pragma unroll
    for (int gate = 0; gate < kGates; ++gate) a[gate] = number(operands + gate * kTileBytes);
    if constexpr (kIsLstm) {
      float cell = quick_tanh(c[tile]), total = dc[tile] + gradient * a[3] * (1 - cell * cell);
      to[0] = total * a[2] * a[0] * (1 - a[0]);
      to[1] = total * inner * a[1] * (1 - a[1]);
      to[2] = total * a[0] * (1 - a[2] * a[2]);
      to[3] = gradient * cell * a[3] * (1 - a[3]);
      dc[tile] = total * a[1];
      dh[tile] = 0;
    } else {
      float through = gradient * (1 - a[0]) * (1 - a[2] * a[2]);
      to[0] = gradient * (number(operands + BackwardTile::kBefore) - a[2]) * a[0] * (1 - a[0]);
      to[1] = through * inner * a[1] * (1 - a[1]);
      to[2] = through;
      to[3] = through * a[1];
      dh[tile] = gradient * a[0];
    }
  }

  __device__ void store_first(int tile, float product) const {
    if (!is_there(tile)) return;
    int64_t at = state_of(tile);
    static_cast<T*>(p.dh)[at] = from_float<T>(dh[tile] + product);
    if (kIsLstm) static_cast<T*>(p.dc)[at] = from_float<T>(dc[tile]);
  }

  // The sums over a warp's rows; the other rows of the tiles are those of another warp.
  __device__ void store_bias(const ClusterPlace& me) const {
    float* to =
        p.dbias_parts + (int64_t(blockIdx.x) / p.blocks * 2 + me.quarter % 2) * 4 * p.units + unit;
#pragma unroll
    for (int gate = 0; gate < 4; ++gate) {
      float sum = bias[gate];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      if (me.fragment_column == 0 && unit < p.units) to[int64_t(gate) * p.units] = sum;
    }
  }
};

// What a thread loads of every tile; `count` steps from the end. The cell before the first step is
// that of the layer's state, of another dtype.
template <class T, int kCell>
__device__ ChunkCopy operand_copy(const RecurrentCluster& p, const ClusterPlace& me, int tile) {
  constexpr int kGates = kClusterGates<kCell>, kIsLstm = kCell == RecurrentCluster::kLstm;
  ChunkCopy copy;
  int i = int(threadIdx.x), first_row = me.row - me.local_row() + tile * 8, last = p.length - 1;
  int first_unit = me.rank * RecurrentCluster::kUnits;
  if (i < 128) {
    int row = i / 16, gate = i / 4 % 4, chunk = i % 4;
    if (gate < kGates)
      copy.set(p, static_cast<const T*>(p.gates), first_row + row, kGates * p.units, gate * p.units,
               first_unit + chunk * 8, last, -1, gate * kTileBytes + tile_offset(row, chunk));
  } else if (i < 192) {
    int row = i / 4 % 8, chunk = i % 4;
    bool is_dy = i < 160;
    if (is_dy || !kIsLstm)
      copy.set(p, static_cast<const T*>(is_dy ? p.dy : p.before), first_row + row, p.units, 0,
               first_unit + chunk * 8, last, -1,
               (is_dy ? BackwardTile::kDy : BackwardTile::kBefore) + tile_offset(row, chunk));
  } else {
    int row = i / 8 % 8, chunk = i % 8;
    copy.set(p, p.inner, first_row + row, p.units, 0, first_unit + chunk * 4,
             kIsLstm ? last - 1 : last, -1, BackwardTile::kWide + wide_offset(row, chunk));
  }
  return copy;
}

// What a thread stores of every tile. A gru's candidate has two gradients: that of the product with h
// lies in its place, the other one behind it.
template <class T, int kCell>
__device__ ChunkCopy gradient_copy(const RecurrentCluster& p, const ClusterPlace& me, int tile) {
  constexpr int kGates = kClusterGates<kCell>, kIsLstm = kCell == RecurrentCluster::kLstm;
  ChunkCopy copy;
  int i = int(threadIdx.x), row = i / 16 % 8, gate = i / 4 % 4, chunk = i % 4;
  bool is_inner = !kIsLstm && i < 128;
  if (gate < kGates && (i < 128 || !kIsLstm))
    copy.set(p, static_cast<const T*>(is_inner ? p.drecurrent : p.dgates),
             me.row - me.local_row() + tile * 8 + row, kGates * p.units, gate * p.units,
             me.rank * RecurrentCluster::kUnits + chunk * 8, p.length - 1, -1,
             gate_offset(row, (!kIsLstm && !is_inner && gate == 2 ? 3 : gate) * 4 + chunk));
  return copy;
}

// A block multiplies its own gates' gradients with all rows of the recurrent kernel, and sends what
// belongs to another block's units there. Tiles take turns as they do forwards.
template <class T, int kCell, int kScale, int kTiles>
__global__ void __launch_bounds__(kClusterThreads, 1)
    recurrent_cluster_back(const __grid_constant__ RecurrentCluster p) {
  using Shared = BackwardShared<kScale, kTiles>;
  constexpr int kGates = kClusterGates<kCell>;
  constexpr bool kIsLstm = kCell == RecurrentCluster::kLstm;
  extern __shared__ __align__(128) char shared[];
  ClusterPlace me(p);
  unsigned base = shared_address(shared);
  auto barrier = [&](int buffer, int tile) {
    return base + unsigned(Shared::kBarriers + 8 * (buffer * kTiles + tile));
  };
  unsigned w[kScale][2 * kGates][4];
  load_rows<T, kCell, kScale>(p, me, w);
  BackwardCells<T, kCell, kTiles> cells(p, me);
  ChunkCopy operand[kTiles], gradient[kTiles];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    operand[tile] = operand_copy<T, kCell>(p, me, tile);
    gradient[tile] = gradient_copy<T, kCell>(p, me, tile);
  }
  auto operands_of = [&](int count, int tile) {
    return shared + Shared::kOperands + (count % kAhead * kTiles + tile) * BackwardTile::kBytes;
  };
  auto load = [&](int count) {
    bool is_state = kIsLstm && threadIdx.x >= 192 && count == p.length - 1;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
      if (count < p.length && !is_state) operand[tile].load(p, operands_of(count, tile), count);
    end_loads();
  };
  clear_shared(shared + Shared::kOperands, kAhead * kTiles * BackwardTile::kBytes);
  for (int count = 0; count < kAhead - 1; ++count) load(count);
  wait_for_loads<kAhead - 2>();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2 * kTiles; ++i) start_barrier(base + unsigned(Shared::kBarriers + 8 * i));
    publish_barriers();
  }
  wait_for_cluster();

  // dgates · Rᵀ of the thread's cell after `count` steps.
  auto received = [&](int count, int tile) {
    int buffer = (count - 1) & 1;
    wait_for_bytes(barrier(buffer, tile), unsigned((count - 1) / 2 & 1));
    const T* from = reinterpret_cast<const T*>(shared + Shared::kParts +
                                               (buffer * kTiles + tile) * Shared::kPartBytes) +
                    me.group * 128 + me.quarter * 32 + me.lane;
    float sums[4] = {};
    if constexpr (kScale > 1) {
#pragma unroll
      for (int block = 0; block < Shared::kMostBlocks; ++block)
        sums[block % 4] += to_float(from[block * 256]);
    } else {
      for (int block = 0; block < p.blocks; ++block) sums[0] += to_float(from[block * 256]);
    }
    return sums[0] + sums[1] + (sums[2] + sums[3]);
  };

  for (int count = 0; count < p.length; ++count) {
    int step = p.length - 1 - count, buffer = count & 1;
    if (threadIdx.x == 0)
      for (int tile = 0; tile < kTiles; ++tile)
        expect_bytes(barrier(buffer, tile), unsigned(p.blocks * kTileBytes));
    load(count + kAhead - 1);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      float product = count > 0 ? received(count, tile) : 0.0F, d[4];
      cells.run(tile, step, operands_of(count, tile), product, d);
      int gates = (buffer * kTiles + tile) * Shared::kGateBytes;
#pragma unroll
      for (int gate = 0; gate < 4; ++gate) {
        int chunk = gate * 4 + me.local_unit() / 8;
        T* to = reinterpret_cast<T*>(shared + gates + gate_offset(me.local_row(), chunk));
        to[me.fragment_row] = from_float<T>(d[kIsLstm || gate < 2 ? gate : 5 - gate]);
      }
      if (tile + 1 == kTiles) wait_for_loads<kAhead - 2>();  // the next step's are there
      __syncthreads();
      float sums[kScale][4] = {};
#pragma unroll
      for (int k = 0; k < 2 * kGates; k += 2) {
        unsigned b[4];
        load_fragments(b, base + unsigned(gates + gate_offset(me.lane % 8, k * 2 + me.lane / 8)));
#pragma unroll
        for (int i = 0; i < kScale; ++i) multiply<T>(sums[i], w[i][k], b[0], b[1]);
#pragma unroll
        for (int i = 0; i < kScale; ++i) multiply<T>(sums[i], w[i][k + 1], b[2], b[3]);
      }
#pragma unroll
      for (int i = 0; i < kScale; ++i) {
        int to = me.warp * kScale + i;  // sixteen units
        if (to >= 2 * p.blocks) continue;
        uint2 words = turn_quad<T>(sums[i], me.lane);
        int place =
            me.rank * kTileBytes + to % 2 * 256 + me.fragment_column * 64 + me.fragment_row * 8;
        unsigned address =
            base + unsigned(Shared::kParts + (buffer * kTiles + tile) * Shared::kPartBytes + place);
        send(address_in(address, to / 2), address_in(barrier(buffer, tile), to / 2), words);
      }
      gradient[tile].store(p, shared + gates, count);
    }
    cells.look_at_mask(step - 1);
  }
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) cells.store_first(tile, received(p.length, tile));
  cells.store_bias(me);
  wait_for_cluster();
}

#else

template <class T, int kCell, int kScale, int kTiles>
__global__ void recurrent_cluster_back(const __grid_constant__ RecurrentCluster) {}

#endif

// One thread per number of dbias. A gru's second row has the same sums but for the candidate's.
template <class T>
__global__ void recurrent_cluster_bias(const __grid_constant__ RecurrentCluster p) {
  int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  int gates = p.cell == RecurrentCluster::kLstm ? 4 : 3, columns = gates * p.units;
  if (i >= columns * (p.cell == RecurrentCluster::kLstm ? 1 : 2)) return;
  int slot = i % columns / p.units, parts = p.bias_parts();
  if (i >= columns && slot == 2) slot = 3;
  const float* from = p.dbias_parts + slot * p.units + i % p.units;
  float sum = 0;
  for (int part = 0; part < parts; ++part) sum += from[int64_t(part) * 4 * p.units];
  static_cast<T*>(p.dbias)[i] = from_float<T>(sum);
}

}  // namespace

int backward_clusters_at_once(const RecurrentCluster& call) {
  return visit_recurrent_cluster(call, [&]<class T, int kCell, int kScale, int kTiles>() {
    return clusters_at_once(recurrent_cluster_back<T, kCell, kScale, kTiles>, call,
                            BackwardShared<kScale, kTiles>::kBytes);
  });
}

void run_recurrent_cluster_back(const RecurrentCluster& call, cudaStream_t stream) {
  visit_recurrent_cluster(call, [&]<class T, int kCell, int kScale, int kTiles>() {
    auto* kernel = recurrent_cluster_back<T, kCell, kScale, kTiles>;
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t config =
        cluster_launch(call, BackwardShared<kScale, kTiles>::kBytes, stream, attribute);
    check(cudaLaunchKernelEx(&config, kernel, call), "recurrent_cluster_back");
  });
  visit_half(call.dtype, [&]<class T>(T) {
    recurrent_cluster_bias<T><<<blocks_for(8 * call.units, kBlock), kBlock, 0, stream>>>(call);
  });
  check_launch("recurrent_cluster_bias");
}

}  // namespace stoker::cuda
