#include "engine/cuda/kernels/recurrent_cluster.cuh"

namespace stoker::cuda {

namespace {

// States of all units, by block, twice; sums of the warps on their way to a cell; inputs, kAhead
// steps of them; results, twice. kScale: 128 inputs of a product, 32 per warp.
template <int kScale, int kTiles>
struct ForwardShared {
  static constexpr int kBlocks = 4 * kScale;
  static constexpr int kStateBytes = kTiles * kBlocks * kTileBytes;
  static constexpr int kParts = 2 * kStateBytes;
  static constexpr int kInputs = kParts + 2 * kTiles * 4 * 4 * 32 * 16;
  static constexpr int kInputBytes = 4 * kTileBytes;  // of a tile: by gate
  static constexpr int kResults = kInputs + kAhead * kTiles * kInputBytes;
  static constexpr int kBarriers = kResults + 2 * kTiles * ForwardTile::kBytes;
  static constexpr int kBytes = kBarriers + 2 * kTiles * 8;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// Columns of the recurrent kernel by inputs, 16 × 16: the columns of one gate of a group's units.
template <class T, int kCell, int kSteps>
__device__ void load_columns(const RecurrentCluster& p, const ClusterPlace& me,
                             unsigned (&w)[kClusterGates<kCell>][kSteps][4]) {
  const T* from = static_cast<const T*>(p.recurrent);
  int64_t columns = int64_t(kClusterGates<kCell>) * p.units;
  auto at = [&](int input, int gate, int unit) {
    bool is_there = input < p.units && unit < p.units;
    return is_there ? from[input * columns + gate * p.units + unit] : from_float<T>(0);
  };
  int first = me.rank * RecurrentCluster::kUnits + me.group * 16 + me.fragment_row;
#pragma unroll
  for (int gate = 0; gate < kClusterGates<kCell>; ++gate)
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        int unit = first + part % 2 * 8;
        int input = (me.quarter * kSteps + step) * 16 + me.fragment_column * 2 + part / 2 * 8;
        w[gate][step][part] = pack(at(input, gate, unit), at(input + 1, gate, unit));
      }
}

// A thread's cells.
template <class T, int kCell, int kTiles>
struct ForwardCells : ClusterCells {
  static constexpr int kGates = kClusterGates<kCell>;
  static constexpr bool kIsLstm = kCell == RecurrentCluster::kLstm;
  float h[kTiles], c[kTiles], y[kTiles], bias[kGates];

  __device__ ForwardCells(const RecurrentCluster& call, const ClusterPlace& me)
      : ClusterCells(call, me) {
#pragma unroll
    for (int gate = 0; gate < kGates; ++gate)
      bias[gate] = kIsLstm || unit >= p.units
                       ? 0.0F
                       : to_float(static_cast<const T*>(p.bias)[gate * p.units + unit]);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      int64_t at = state_of(tile);
      h[tile] = is_there(tile) ? to_float(static_cast<const T*>(p.h)[at]) : 0.0F;
      c[tile] = kIsLstm && is_there(tile) ? to_float(static_cast<const T*>(p.c)[at]) : 0.0F;
      y[tile] = 0;
    }
  }
  __device__ bool counts(int tile, int step) const {
    return p.mask == nullptr || !is_there(tile) || p.mask[step_of(tile, step)];
  }
  __device__ static void put(char* tile, int offset, float value) {
    *reinterpret_cast<T*>(tile + offset) = from_float<T>(value);
  }

  // sums: h · R of the thread's cell; inputs, results: the tile's.
  __device__ void run(int tile, bool is_counted, const float (&sums)[kGates], const char* inputs,
                      char* results) {
    put(results, ForwardTile::kBefore + place, h[tile]);
    float inner = c[tile];
    if (is_counted) {
      float a[kGates];
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) {
        float input = to_float(*reinterpret_cast<const T*>(inputs + gate * kTileBytes + place));
        float state = sums[gate] + bias[gate];
        if constexpr (kIsLstm) {
          a[gate] = gate == 2 ? quick_tanh(input + state) : quick_logistic(input + state);
        } else if (gate < 2) {
          a[gate] = quick_logistic(input + state);
        } else {
          inner = state;
          a[gate] = quick_tanh(input + a[1] * state);
        }
      }
      if constexpr (kIsLstm) {
        inner = c[tile] = a[1] * c[tile] + a[0] * a[2];
        h[tile] = a[3] * quick_tanh(c[tile]);
      } else {
        h[tile] = a[0] * h[tile] + (1 - a[0]) * a[2];
      }
      y[tile] = h[tile] = to_float(from_float<T>(h[tile]));
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) put(results, gate * kTileBytes + place, a[gate]);
    } else if (p.zero_masked) {
      y[tile] = 0;
    }
    // Units that do not exist meet zeros of the kernel, which make NaN of an infinity: they stay zero.
    if (!is_there(tile)) h[tile] = 0;
    put(results, ForwardTile::kState + place, h[tile]);
    put(results, ForwardTile::kY + place, y[tile]);
    *reinterpret_cast<float*>(results + ForwardTile::kWide + wide_place) = inner;
  }

  __device__ void store_last() const {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      if (!is_there(tile)) continue;
      int64_t at = state_of(tile);
      if (p.last_h != nullptr) static_cast<T*>(p.last_h)[at] = from_float<T>(h[tile]);
      if (p.last_c != nullptr) static_cast<T*>(p.last_c)[at] = from_float<T>(c[tile]);
    }
  }
};

// What a thread loads: a chunk of its group's units, so that the group's own barrier shows it to all
// that need it.
template <class T, int kGates, int kTiles>
__device__ ChunkCopy input_copy(const RecurrentCluster& p, const ClusterPlace& me) {
  ChunkCopy copy;
  int which = me.quarter * 32 + me.lane, tile = which / (16 * kGates), i = which % (16 * kGates);
  if (tile >= kTiles) return copy;
  int row = i / (2 * kGates), gate = i / 2 % kGates, chunk = me.group * 2 + i % 2;
  copy.set(p, static_cast<const T*>(p.gates), me.row - me.local_row() + tile * 8 + row,
           kGates * p.units, gate * p.units, me.rank * RecurrentCluster::kUnits + chunk * 8, 0, 1,
           (tile * 4 + gate) * kTileBytes + tile_offset(row, chunk));
  return copy;
}

// What a thread stores of every tile: gates, y, h before the step, or half as many units in float32.
template <class T, int kGates>
__device__ ChunkCopy result_copy(const RecurrentCluster& p, const ClusterPlace& me, int tile) {
  constexpr int kUnits = RecurrentCluster::kUnits;
  ChunkCopy copy;
  int i = int(threadIdx.x), first_row = me.row - me.local_row() + tile * 8;
  int first_unit = me.rank * kUnits;
  bool keeps = p.inner != nullptr;
  if (i < 128) {
    int row = i / 16, gate = i / 4 % 4, chunk = i % 4;
    if (keeps && gate < kGates)
      copy.set(p, static_cast<const T*>(p.gates), first_row + row, kGates * p.units, gate * p.units,
               first_unit + chunk * 8, 0, 1, gate * kTileBytes + tile_offset(row, chunk));
  } else if (i < 192) {
    int row = i / 4 % 8, chunk = i % 4;
    bool is_y = i < 160;
    if (keeps || is_y)
      copy.set(p, static_cast<const T*>(is_y ? p.y : p.before), first_row + row, p.units, 0,
               first_unit + chunk * 8, 0, 1,
               (is_y ? ForwardTile::kY : ForwardTile::kBefore) + tile_offset(row, chunk));
  } else if (keeps) {
    int row = i / 8 % 8, chunk = i % 8;
    copy.set(p, p.inner, first_row + row, p.units, 0, first_unit + chunk * 4, 0, 1,
             ForwardTile::kWide + wide_offset(row, chunk));
  }
  return copy;
}

// The states before the first step, for all units, and zeros where there is none.
template <class T, int kScale, int kTiles>
__device__ void fill_states(const RecurrentCluster& p, int first_row, char* shared) {
  using Shared = ForwardShared<kScale, kTiles>;
  constexpr int kUnits = RecurrentCluster::kUnits, kCount = Shared::kStateBytes / 2;
  for (int i = int(threadIdx.x); i < 2 * kCount; i += kClusterThreads) {
    int row = i / kUnits % 8, tile = i % kCount / (kCount / kTiles);
    int unit = i / (8 * kUnits) % Shared::kBlocks * kUnits + i % kUnits;
    int from = first_row + tile * 8 + row;
    bool has = i < kCount && unit < p.units && from < p.batch;
    T* to = reinterpret_cast<T*>(shared + i / (8 * kUnits) * kTileBytes +
                                 tile_offset(row, unit % kUnits / 8));
    to[unit % 8] =
        has ? static_cast<const T*>(p.h)[int64_t(from) * p.units + unit] : from_float<T>(0);
  }
}

// A quarter of the inputs per warp; the four warps of a group add theirs up, each for its own cells.
// Tiles take turns: while the states of one are on their way, the next one's are computed.
template <class T, int kCell, int kScale, int kTiles>
__global__ void __launch_bounds__(kClusterThreads, 1)
    recurrent_cluster(const __grid_constant__ RecurrentCluster p) {
  using Shared = ForwardShared<kScale, kTiles>;
  constexpr int kGates = kClusterGates<kCell>, kSteps = 2 * kScale;
  extern __shared__ __align__(128) char shared[];
  ClusterPlace me(p);
  unsigned states = shared_address(shared), barriers = states + Shared::kBarriers;
  auto barrier = [&](int buffer, int tile) {
    return barriers + unsigned(8 * (buffer * kTiles + tile));
  };
  auto state = [&](int buffer, int tile, int block) {
    return states + unsigned(((buffer * kTiles + tile) * Shared::kBlocks + block) * kTileBytes);
  };
  unsigned w[kGates][kSteps][4];
  load_columns<T, kCell, kSteps>(p, me, w);
  ForwardCells<T, kCell, kTiles> cells(p, me);
  ChunkCopy input = input_copy<T, kGates, kTiles>(p, me), result[kTiles];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) result[tile] = result_copy<T, kGates>(p, me, tile);
  char* inputs = shared + Shared::kInputs;
  auto load = [&](int step) {
    if (step < p.length)
      input.load(p, inputs + step % kAhead * (kTiles * Shared::kInputBytes), step);
    end_loads();
  };
  clear_shared(inputs, kAhead * kTiles * Shared::kInputBytes);
  for (int step = 0; step < kAhead - 1; ++step) load(step);
  fill_states<T, kScale, kTiles>(p, me.row - me.local_row(), shared);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2 * kTiles; ++i) start_barrier(barriers + unsigned(8 * i));
    publish_barriers();
  }
  wait_for_cluster();

  for (int step = 0; step < p.length; ++step) {
    int buffer = step & 1;
    bool is_last = step + 1 == p.length, counts[kTiles];
    if (threadIdx.x == 0 && !is_last)
      for (int tile = 0; tile < kTiles; ++tile)
        expect_bytes(barrier(1 - buffer, tile), unsigned(p.blocks * kTileBytes));
    load(step + kAhead - 1);
    wait_for_loads<kAhead - 1>();  // this step's are there
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) counts[tile] = cells.counts(tile, step);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      if (step > 0) wait_for_bytes(barrier(buffer, tile), unsigned((step - 1) / 2 & 1));
      float sums[kGates][4] = {};
#pragma unroll
      for (int k = 0; k < kSteps; k += 2) {
        unsigned b[4];
        load_fragments(b, state(buffer, tile, me.quarter * kScale + k / 2) +
                              unsigned(tile_offset(me.lane % 8, me.lane / 8)));
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate) multiply<T>(sums[gate], w[gate][k], b[0], b[1]);
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate)
          multiply<T>(sums[gate], w[gate][k + 1], b[2], b[3]);
      }
      float4* parts = reinterpret_cast<float4*>(shared + Shared::kParts) +
                      (me.group * kTiles + tile) * 16 * 32 + me.lane;
#pragma unroll
      for (int cell = 0; cell < 4; ++cell)
        parts[(cell * 4 + me.quarter) * 32] =
            make_float4(sums[0][cell], sums[1][cell], sums[2][cell],
                        kGates == 4 ? sums[kGates - 1][cell] : 0.0F);
      asm volatile("bar.sync %0, 128;" ::"r"(me.group + 1) : "memory");
      float4 sum = parts[me.quarter * 4 * 32];
#pragma unroll
      for (int part = 1; part < 4; ++part) {
        float4 more = parts[(me.quarter * 4 + part) * 32];
        sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
      }
      float product[kGates] = {sum.x, sum.y, sum.z};
      if constexpr (kGates == 4) product[3] = sum.w;
      char* results = shared + Shared::kResults + (buffer * kTiles + tile) * ForwardTile::kBytes;
      cells.run(tile, counts[tile], product,
                inputs + (step % kAhead * kTiles + tile) * Shared::kInputBytes, results);
      __syncthreads();
      if (!is_last) {
        uint4 words = reinterpret_cast<const uint4*>(results + ForwardTile::kState)[me.lane];
        for (int block = me.warp; block < p.blocks; block += 8)
          send(address_in(state(1 - buffer, tile, me.rank) + unsigned(16 * me.lane), block),
               address_in(barrier(1 - buffer, tile), block), words);
      }
      result[tile].store(p, results, step);
    }
  }
  cells.store_last();
  wait_for_cluster();
}

#else

template <class T, int kCell, int kScale, int kTiles>
__global__ void recurrent_cluster(const __grid_constant__ RecurrentCluster) {}

#endif

int forward_clusters_at_once(const RecurrentCluster& call) {
  return visit_recurrent_cluster(call, [&]<class T, int kCell, int kScale, int kTiles>() {
    return clusters_at_once(recurrent_cluster<T, kCell, kScale, kTiles>, call,
                            ForwardShared<kScale, kTiles>::kBytes);
  });
}

}  // namespace

bool plan_recurrent_cluster(RecurrentCluster& call) {
  if (call.units > RecurrentCluster::kMostUnits) return false;
  call.blocks = 1;
  while (call.blocks * RecurrentCluster::kUnits < call.units) call.blocks *= 2;
  // Both ways, 512 units, H200: 2.47 µs per step with one tile, 4.52 µs with two.
  int best = 0, least = 0;
  for (int tiles : {1, 2}) {
    call.tiles = tiles;
    int at_once = std::min(forward_clusters_at_once(call), backward_clusters_at_once(call));
    if (at_once == 0) continue;
    int turns = (call.clusters() + at_once - 1) / at_once, time = turns * (1 + 5 * tiles);
    if (best == 0 || time < least) {
      best = tiles;
      least = time;
    }
  }
  call.tiles = best;
  return best > 0;
}

void run_recurrent_cluster(const RecurrentCluster& call, cudaStream_t stream) {
  visit_recurrent_cluster(call, [&]<class T, int kCell, int kScale, int kTiles>() {
    auto* kernel = recurrent_cluster<T, kCell, kScale, kTiles>;
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t config =
        cluster_launch(call, ForwardShared<kScale, kTiles>::kBytes, stream, attribute);
    check(cudaLaunchKernelEx(&config, kernel, call), "recurrent_cluster");
  });
}

}  // namespace stoker::cuda
