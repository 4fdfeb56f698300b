// What Hopper (sm_90a) has beyond a warp's own instructions: barriers in shared memory, the copy engine for tensors, and
// products by four warps at once with operands in shared memory.
#pragma once

#include <cuda.h>

#include "engine/cuda/kernels/tensor_cores.cuh"

namespace stoker::cuda {

__device__ inline unsigned shared_address(const void* at) {
  return unsigned(__cvta_generic_to_shared(at));
}

// --- barriers ---

using Barrier = uint64_t;

__device__ inline void barrier_init(Barrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals)
               : "memory");
}
// After barrier_init, by the thread that called it, before the block's threads meet.
__device__ inline void barriers_ready() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void barrier_arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}
// Arrives, and lets the phase wait for as many bytes of copies too.
__device__ inline void barrier_expect(Barrier* barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
__device__ inline void barrier_wait(Barrier* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// --- copies ---

// The box of `map` at these places; what lies outside of the tensor becomes zero.
__device__ inline void copy_box(void* to, const CUtensorMap& map, int at0, int at1, int at2,
                                int at3, Barrier* done) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4, %5, %6}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(done)), "r"(at0), "r"(at1), "r"(at2), "r"(at3)
      : "memory");
}
// Multiples of sixteen bytes.
__device__ inline void copy_bytes(void* to, const void* from, unsigned bytes, Barrier* done) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(done))
      : "memory");
}

// --- products of a warp group: four warps, sixteen rows each ---

// Rows of 64 sixteen-bit numbers in shared memory as the copy engine swizzles them over 128 bytes, the first of them at a
// multiple of 1,024 bytes. Descriptors count in sixteen bytes; `next`: bytes to the following 64 numbers of a row, where a
// product takes more than 64 along its rows.
__device__ inline uint64_t matrix_at(const void* first, unsigned next) {
  return uint64_t(shared_address(first) >> 4) | uint64_t(next >> 4) << 16 |
         uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

__device__ inline void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void products_end() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until at most this many groups of products are under way.
template <int kCount>
__device__ inline void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kCount) : "memory");
}

// clang-format off
#define STOKER_PLACES_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define STOKER_SUMS_8(d, i) \
      "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), \
      "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define STOKER_SUMS_32(d, i) \
      STOKER_SUMS_8(d, i), STOKER_SUMS_8(d, i + 8), STOKER_SUMS_8(d, i + 16), STOKER_SUMS_8(d, i + 24)
#define STOKER_PLACES_64 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define STOKER_SUMS_64(d) STOKER_SUMS_32(d, 0), STOKER_SUMS_32(d, 32)
#define STOKER_TURNED_64(type, d, a, b, add)                                                   \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"                                       \
               "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" STOKER_PLACES_32       \
               "}, %32, %33, add, 1, 1, 0, 0;\n}"                                                     \
               : STOKER_SUMS_32(d, 0) : "l"(a), "l"(b), "r"(int(add)))
#define STOKER_STRAIGHT_64(type, d, a, b)                                                      \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\n"                                       \
               "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" STOKER_PLACES_32       \
               "}, {%32, %33, %34, %35}, %36, add, 1, 1, 1;\n}"                                      \
               : STOKER_SUMS_32(d, 0)                                                             \
               : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"(1))
#define STOKER_TURNED_128(type, d, a, b, add)                                                   \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"                                       \
               "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" STOKER_PLACES_64       \
               "}, %64, %65, add, 1, 1, 0, 0;\n}"                                                     \
               : STOKER_SUMS_64(d) : "l"(a), "l"(b), "r"(int(add)))
#define STOKER_STRAIGHT_128(type, d, a, b)                                                      \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"                                       \
               "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" STOKER_PLACES_64       \
               "}, {%64, %65, %66, %67}, %68, add, 1, 1, 1;\n}"                                      \
               : STOKER_SUMS_64(d)                                                                \
               : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"(1))
// clang-format on

// d (+)= a · bᵀ: 64 rows of a, N rows of b, sixteen numbers of each. A thread's places in d are those of `multiply`.
template <class T, int kSums>
__device__ inline void multiply_turned(float (&d)[kSums], uint64_t a, uint64_t b, bool add) {
  static_assert(kSums == 32 || kSums == 64);
  if constexpr (kSums == 32 && std::is_same_v<T, Half>)
    STOKER_TURNED_64("f16", d, a, b, add);
  else if constexpr (kSums == 32)
    STOKER_TURNED_64("bf16", d, a, b, add);
  else if constexpr (std::is_same_v<T, Half>)
    STOKER_TURNED_128("f16", d, a, b, add);
  else
    STOKER_TURNED_128("bf16", d, a, b, add);
}
// d += a · b: a in registers, sixteen rows of b.
template <class T, int kSums>
__device__ inline void multiply_straight(float (&d)[kSums], const unsigned* a, uint64_t b) {
  static_assert(kSums == 32 || kSums == 64);
  if constexpr (kSums == 32 && std::is_same_v<T, Half>)
    STOKER_STRAIGHT_64("f16", d, a, b);
  else if constexpr (kSums == 32)
    STOKER_STRAIGHT_64("bf16", d, a, b);
  else if constexpr (std::is_same_v<T, Half>)
    STOKER_STRAIGHT_128("f16", d, a, b);
  else
    STOKER_STRAIGHT_128("bf16", d, a, b);
}

#undef STOKER_PLACES_32
#undef STOKER_PLACES_64
#undef STOKER_SUMS_8
#undef STOKER_SUMS_32
#undef STOKER_SUMS_64
#undef STOKER_TURNED_64
#undef STOKER_TURNED_128
#undef STOKER_STRAIGHT_64
#undef STOKER_STRAIGHT_128

}  // namespace stoker::cuda
