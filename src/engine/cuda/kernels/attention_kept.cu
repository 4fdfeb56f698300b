#include "engine/cuda/kernels/attention_kept.h"

#include <cmath>

#include "base/philox.h"
#include "engine/cuda/kernels/common.cuh"

namespace stoker::cuda {

namespace {

struct KeptCall {
  KeptBits to;
  const int64_t* state;
  int64_t stream_number, first_row;  // of all queries' rows
  int64_t pairs;                     // of batch and head
  int queries, keys;
  bool causal;
  uint32_t most_dropped;  // a weight whose 32 random bits are more is kept
};

constexpr int kRounds = 10;
constexpr uint32_t kMultiplier0 = 0xD2511F53U, kMultiplier1 = 0xCD9E8D57U;

// random_block of base/philox.h for blocks that share the upper half of their number: what depends on that alone is made
// before, the keys of all rounds and the halves of the first two rounds.
struct DrawFrom {
  uint32_t first[kRounds], second[kRounds];
  uint32_t stream_high, low1;  // of round 1: counter[3], and the lower half of its second product
  uint32_t high2, low2;        // of round 2: the halves of its first product

  __device__ DrawFrom(uint64_t seed, uint64_t stream, uint32_t block_high) {
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      first[round] = uint32_t(seed) + uint32_t(round) * 0x9E3779B9U;
      second[round] = uint32_t(seed >> 32) + uint32_t(round) * 0xBB67AE85U;
    }
    stream_high = uint32_t(stream >> 32);
    uint64_t product = uint64_t(kMultiplier1) * uint32_t(stream);
    low1 = uint32_t(product);
    product = uint64_t(kMultiplier0) * (uint32_t(product >> 32) ^ block_high ^ first[0]);
    high2 = uint32_t(product >> 32);
    low2 = uint32_t(product);
  }
  __device__ PhiloxBlock operator()(uint32_t block_low) const {
    uint64_t product = uint64_t(kMultiplier0) * block_low;
    uint32_t upper = uint32_t(product >> 32) ^ stream_high ^ second[0];  // counter[2] of round 2
    uint32_t last = uint32_t(product);                                   // counter[3]
    product = uint64_t(kMultiplier1) * upper;
    PhiloxBlock c = {uint32_t(product >> 32) ^ low1 ^ first[1], uint32_t(product),
                     high2 ^ last ^ second[1], low2};
#pragma unroll
    for (int round = 2; round < kRounds; ++round) {
      uint64_t product0 = uint64_t(kMultiplier0) * c[0], product1 = uint64_t(kMultiplier1) * c[2];
      c = {uint32_t(product1 >> 32) ^ c[1] ^ first[round], uint32_t(product1),
           uint32_t(product0 >> 32) ^ c[3] ^ second[round], uint32_t(product0)};
    }
    return c;
  }
};

// Bit b of lane l becomes bit l of lane b.
__device__ unsigned transposed(unsigned word) {
  unsigned mask = 0x0000ffffU;
#pragma unroll
  for (int j = 16; j > 0; j /= 2, mask ^= mask << j) {
    unsigned other = __shfl_xor_sync(~0U, word, j);
    word = (threadIdx.x & unsigned(j)) != 0 ? (word & ~mask) | (other >> j & mask)
                                            : (word & mask) | (other & mask) << j;
  }
  return word;
}

// A warp has 32 queries, one per lane, and kWords times 32 keys.
constexpr int kWords = 8;
template <bool kByKeys>
__global__ void __launch_bounds__(kBlock) draw_kept(const __grid_constant__ KeptCall c) {
  auto seed = uint64_t(c.state[0]);
  uint64_t stream = uint64_t(c.state[1]) * 65536 + uint64_t(c.stream_number);
  uint32_t block_high = 0;
  DrawFrom from(seed, stream, block_high);
  int lane = int(threadIdx.x) % 32, groups = (c.queries + 31) / 32, words = (c.keys + 31) / 32;
  int key_pitch = (c.keys + 63) / 64 * 2, query_pitch = (c.queries + 63) / 64 * 2;
  int parts = (words + kWords - 1) / kWords;
  int64_t item = int64_t(blockIdx.x) * (kBlock / 32) + threadIdx.x / 32;
  int64_t pair = item / parts / groups;
  if (pair >= c.pairs) return;
  int part = int(item % parts), group = int(item / parts % groups);
  for (int word = part * kWords; word < min(words, (part + 1) * kWords); ++word) {
    if (c.causal && word > group) break;  // no query of these sees a key of these
    int query = group * 32 + lane;
    uint64_t element = uint64_t((c.first_row + pair * c.queries + query) * c.keys + word * 32);
    auto four = [&](const PhiloxBlock& drawn) {
      unsigned bits = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (drawn[i] > c.most_dropped) bits |= 1U << i;
      return bits;
    };
    uint64_t block = element / 4;
    if (uint32_t(block >> 32) != block_high) {
      block_high = uint32_t(block >> 32);
      from = DrawFrom(seed, stream, block_high);
    }
    unsigned bits = 0, beyond = 0;
    if (uint32_t(block) < ~0U - 8) {  // all of one upper half; no branch between the blocks
#pragma unroll
      for (int i = 0; i < 8; ++i) bits |= four(from(uint32_t(block) + unsigned(i))) << (4 * i);
      if (c.keys % 4 != 0) beyond = four(from(uint32_t(block) + 8));
    } else {
#pragma unroll 1
      for (int i = 0; i < 8; ++i)
        bits |= four(random_block(seed, stream, block + uint64_t(i))) << (4 * i);
      beyond = four(random_block(seed, stream, block + 8));
    }
    bits = __funnelshift_r(bits, beyond, unsigned(element % 4));
    if (query < c.queries)
      reinterpret_cast<unsigned*>(c.to.by_queries)[(pair * c.queries + query) * key_pitch + word] =
          bits;
    if constexpr (kByKeys) {
      unsigned turned = transposed(bits);
      if (int key = word * 32 + lane; key < c.keys)
        reinterpret_cast<unsigned*>(c.to.by_keys)[(pair * c.keys + key) * query_pitch + group] =
            turned;
    }
  }
}

}  // namespace

size_t kept_bits_bytes(const AttentionCall& c, bool by_keys) {
  int64_t words = c.queries * ((c.keys + 63) / 64);
  if (by_keys) words += c.keys * ((c.queries + 63) / 64);
  return size_t(c.heads * words) * sizeof(uint2);
}

void run_kept_bits(const AttentionCall& c, int64_t first, const KeptBits& to, cudaStream_t stream) {
  KeptCall call{.to = to,
                .state = c.state,
                .stream_number = c.stream_number,
                .first_row = first * c.heads * c.queries,
                .pairs = c.batch * c.heads,
                .queries = int(c.queries),
                .keys = int(c.keys),
                .causal = c.causal,
                .most_dropped = uint32_t((uint64_t(std::ceil(c.rate * 0x1p24)) << 8) - 1)};
  int64_t groups = (c.queries + 31) / 32, parts = (c.keys + 32 * kWords - 1) / (32 * kWords);
  unsigned blocks = blocks_for(call.pairs * groups * parts, kBlock / 32);
  if (to.by_keys != nullptr)
    draw_kept<true><<<blocks, kBlock, 0, stream>>>(call);
  else
    draw_kept<false><<<blocks, kBlock, 0, stream>>>(call);
  check_launch("attention's dropout");
}

}  // namespace stoker::cuda
