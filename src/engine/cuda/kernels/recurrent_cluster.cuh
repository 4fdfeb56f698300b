// What the kernels of recurrent_cluster.h share: who owns what, and how blocks of a cluster talk.
//
// A block has 8 warps and owns 32 units: two groups of 16, four warps each. A thread owns, in every
// tile of eight rows, the cell of one unit and one row: that of fragment `quarter` of a 16×8 product
// (tensor_cores.cuh), so that sums of products meet their cell without further ado.
#pragma once

#include "engine/cuda/kernels/recurrent_cluster.h"
#include "engine/cuda/kernels/tensor_cores.cuh"

namespace stoker::cuda {

constexpr int kClusterThreads = 256;

template <int kCell>
inline constexpr int kClusterGates = kCell == RecurrentCluster::kLstm ? 4 : 3;

struct ClusterPlace {
  int lane, warp, group, quarter, rank;
  int fragment_row, fragment_column;  // of lane / 4 and lane % 4
  int unit, row;                      // of the thread's cell, the row in the first tile

  __device__ explicit ClusterPlace(const RecurrentCluster& p)
      : lane(int(threadIdx.x) % 32),
        warp(int(threadIdx.x) / 32),
        group(warp / 4),
        quarter(warp % 4),
        rank(int(blockIdx.x) % p.blocks),
        fragment_row(lane / 4),
        fragment_column(lane % 4),
        unit(local_unit() + RecurrentCluster::kUnits * rank),
        row(int(blockIdx.x) / p.blocks * 8 * p.tiles + local_row()) {}

  __device__ int local_unit() const { return group * 16 + fragment_row + quarter / 2 * 8; }
  __device__ int local_row() const { return fragment_column * 2 + quarter % 2; }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ inline unsigned shared_address(const void* pointer) {
  return unsigned(__cvta_generic_to_shared(pointer));
}

// The same address in another block of the cluster.
__device__ inline unsigned address_in(unsigned address, int rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

__device__ inline void wait_for_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

// An mbarrier whose phase ends when one thread has arrived and all bytes that it announced are there.
__device__ inline void start_barrier(unsigned barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void expect_bytes(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ inline void wait_for_bytes(unsigned barrier, unsigned phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}" ::"r"(barrier),
      "r"(phase)
      : "memory");
}
// Sixteen bytes, or eight, into another block's shared memory, counted by a barrier there.
__device__ inline void send(unsigned to, unsigned barrier, const uint4& words) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, "
      "[%5];" ::"r"(to),
      "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w), "r"(barrier)
      : "memory");
}
__device__ inline void send(unsigned to, unsigned barrier, const uint2& words) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1,%2}, [%3];" ::
          "r"(to),
      "r"(words.x), "r"(words.y), "r"(barrier)
      : "memory");
}
__device__ inline void load_fragments(unsigned* words, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}

#endif

// Near one good to the last bits of float32, near zero absolutely so: more than sixteen bits hold.
__device__ inline float quick_power(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ inline float quick_inverse(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ inline float quick_logistic(float x) {
  return quick_inverse(1 + quick_power(-1.44269504F * x));
}
__device__ inline float quick_tanh(float x) {
  return 1 - 2 * quick_inverse(1 + quick_power(2.88539008F * x));
}

// Global memory is read and written in chunks of eight units of a row, which one thread copies from
// or to a tile [8, 32] in shared memory. The place of a chunk in a tile, in bytes: eight rows of a
// chunk lie in different banks.
constexpr int kTileBytes = RecurrentCluster::kUnits * 8 * 2;
__device__ inline int tile_offset(int row, int chunk) {
  return row * RecurrentCluster::kUnits * 2 + ((chunk ^ (row / 2 & 3)) << 4);
}
// The same of float32, in chunks of four units.
__device__ inline int wide_offset(int row, int chunk) {
  return row * RecurrentCluster::kUnits * 4 + ((chunk ^ (row & 6)) << 4);
}

// Where a thread's cells lie, one of every tile.
struct ClusterCells {
  const RecurrentCluster& p;
  int row, unit;          // the row in the first tile
  int place, wide_place;  // in a tile, in bytes

  __device__ ClusterCells(const RecurrentCluster& call, const ClusterPlace& me)
      : p(call),
        row(me.row),
        unit(me.unit),
        place(tile_offset(me.local_row(), me.local_unit() / 8) + me.fragment_row * 2),
        wide_place(wide_offset(me.local_row(), me.local_unit() / 4) + me.fragment_row % 4 * 4) {}

  __device__ bool is_there(int tile) const { return unit < p.units && row + 8 * tile < p.batch; }
  // In [B, units], and the row of a step in [B, T].
  __device__ int64_t state_of(int tile) const { return int64_t(row + 8 * tile) * p.units + unit; }
  __device__ int64_t step_of(int tile, int step) const {
    return int64_t(row + 8 * tile) * p.length + (p.reverse ? p.length - 1 - step : step);
  }
};

// What a step writes of a tile, in bytes from its beginning: activations by gate, y, h before the
// step, h, and c or what a gru keeps in float32.
struct ForwardTile {
  static constexpr int kY = 4 * kTileBytes, kBefore = 5 * kTileBytes, kState = 6 * kTileBytes;
  static constexpr int kWide = 7 * kTileBytes, kBytes = 9 * kTileBytes;
};
// What a step back reads: activations by gate, dy, h before the step, and c before it or what a gru
// has kept in float32.
struct BackwardTile {
  static constexpr int kDy = 4 * kTileBytes, kBefore = 5 * kTileBytes, kWide = 6 * kTileBytes;
  static constexpr int kBytes = 8 * kTileBytes;
};

// A chunk that a thread copies in every step.
struct ChunkCopy {
  char* global = nullptr;  // at the first step done; null: no chunk
  int64_t stride = 0;      // bytes from step to step
  int shared = 0;          // bytes from the beginning of the tile
  int bytes = 0;           // of the chunk that exist

  // From `column` + `unit` of [B, T, width]; `direction`: 1 or -1 step per step done.
  template <class E>
  __device__ void set(const RecurrentCluster& p, const E* base, int row, int width, int column,
                      int unit, int first_step, int direction, int place) {
    constexpr int kCount = 16 / int(sizeof(E));
    shared = place;
    bytes = row < p.batch ? max(0, min(kCount, p.units - unit)) * int(sizeof(E)) : 0;
    stride = int64_t(p.reverse ? -direction : direction) * width * int64_t(sizeof(E));
    int64_t at = int64_t(row) * p.length + (p.reverse ? p.length - 1 - first_step : first_step);
    global = bytes == 0
                 ? nullptr
                 : reinterpret_cast<char*>(const_cast<E*>(base) + at * width + column + unit);
  }
  // Units that are no multiple of eight do not lie at multiples of sixteen bytes.
  __device__ void load(const RecurrentCluster& p, char* tiles, int step) const {
    if (global == nullptr) return;
    const char* from = global + step * stride;
    if (p.units % 8 == 0) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       unsigned(__cvta_generic_to_shared(tiles + shared))),
                   "l"(from)
                   : "memory");
    } else {
      for (int i = 0; i < bytes; i += 2)
        *reinterpret_cast<short*>(tiles + shared + i) = *reinterpret_cast<const short*>(from + i);
    }
  }
  __device__ void store(const RecurrentCluster& p, const char* tiles, int step) const {
    if (global == nullptr) return;
    char* to = global + step * stride;
    if (p.units % 8 == 0) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(tiles + shared);
    } else {
      for (int i = 0; i < bytes; i += 2)
        *reinterpret_cast<short*>(to + i) = *reinterpret_cast<const short*>(tiles + shared + i);
    }
  }
};
// What no chunk is copied to stays zero.
__device__ inline void clear_shared(char* begin, int bytes) {
  for (int i = int(threadIdx.x) * 16; i < bytes; i += kClusterThreads * 16)
    *reinterpret_cast<uint4*>(begin + i) = make_uint4(0, 0, 0, 0);
  __syncthreads();
}
// Copies of the last steps are still on their way, but for `kPending`.
__device__ inline void end_loads() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
__device__ inline void wait_for_loads() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
constexpr int kAhead = 4;  // steps whose operands are in shared memory or on their way there

// function.operator()<T, kCell, kScale, kTiles>() for a call; kScale: 128 units, rounded up to 1, 2, 4.
template <class Function>
auto visit_recurrent_cluster(const RecurrentCluster& call, Function function) {
  auto with_tiles = [&]<class T, int kCell, int kScale>() {
    return call.tiles == 1 ? function.template operator()<T, kCell, kScale, 1>()
                           : function.template operator()<T, kCell, kScale, 2>();
  };
  auto with_cell = [&]<class T, int kCell>() {
    return call.blocks <= 4   ? with_tiles.template operator()<T, kCell, 1>()
           : call.blocks == 8 ? with_tiles.template operator()<T, kCell, 2>()
                              : with_tiles.template operator()<T, kCell, 4>();
  };
  auto with_type = [&]<class T>() {
    return call.cell == RecurrentCluster::kLstm
               ? with_cell.template operator()<T, RecurrentCluster::kLstm>()
               : with_cell.template operator()<T, RecurrentCluster::kGru>();
  };
  return call.dtype == DType::float16 ? with_type.template operator()<Half>()
                                      : with_type.template operator()<Bfloat>();
}

// Clusters of 16 are beyond what every device has to offer, and take leave to be asked for.
inline cudaLaunchConfig_t cluster_launch(const RecurrentCluster& call, size_t bytes,
                                         cudaStream_t stream, cudaLaunchAttribute& attribute) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(call.blocks * call.clusters()));
  config.blockDim = dim3(kClusterThreads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = unsigned(call.blocks);
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return config;
}

template <class Kernel>
bool permit_clusters(Kernel* kernel, size_t bytes) {
  cudaFuncAttributes found{};
  return cudaFuncGetAttributes(&found, kernel) == cudaSuccess && found.ptxVersion >= 90 &&
         cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ==
             cudaSuccess &&
         cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)) ==
             cudaSuccess;
}

// How many clusters run at the same time; 0: none can.
template <class Kernel>
int clusters_at_once(Kernel* kernel, const RecurrentCluster& call, size_t bytes) {
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config = cluster_launch(call, bytes, nullptr, attribute);
  int count = 0;
  if (!permit_clusters(kernel, bytes) ||
      cudaOccupancyMaxActiveClusters(&count, kernel, &config) != cudaSuccess)
    count = 0;
  cudaGetLastError();  // a device without clusters is no error
  return count;
}

// The backward kernel's part of plan_recurrent_cluster.
int backward_clusters_at_once(const RecurrentCluster& call);

}  // namespace stoker::cuda
