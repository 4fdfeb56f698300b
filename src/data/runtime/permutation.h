// A random order of 0 … count - 1 as a function: element i of the order costs some nanoseconds and
// no memory. A Feistel network over the next even number of bits permutes a slightly larger range;
// what falls outside walks on until it is inside.
#pragma once

#include <bit>
#include <cstdint>

#include "data/runtime/making.h"

namespace stoker::data {

class Permutation {
 public:
  Permutation(int64_t count, uint64_t key) : count_(uint64_t(count)) {
    int bits = count <= 1 ? 2 : std::bit_width(uint64_t(count) - 1);
    half_ = (bits + 1) / 2;
    rounds_ = half_ > kShort ? kFew : kMany;
    mask_ = (uint64_t(1) << half_) - 1;
    uint64_t next = mixed(key, uint64_t(count));
    for (int round = 0; round < rounds_; ++round)
      keys_[round] = next, next = next * 0xD1342543DE82EF95ULL + 1;
  }

  int64_t operator()(int64_t index) const {
    auto at = uint64_t(index);
    do at = once(at);
    while (at >= count_);
    return int64_t(at);
  }

 private:
  // Halves of few bits mix little in a round.
  static constexpr int kShort = 5, kFew = 4, kMany = 12;

  uint64_t once(uint64_t at) const {
    uint64_t left = at >> half_, right = at & mask_;
    for (int round = 0; round < rounds_; ++round) {
      uint64_t key = keys_[round];
      uint64_t x = (right + key) * 0xBF58476D1CE4E5B9ULL;
      x = (x ^ (x >> 29)) * 0x94D049BB133111EBULL;
      uint64_t next = left ^ ((x >> 32) & mask_);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  uint64_t count_, mask_;
  int half_, rounds_;
  uint64_t keys_[kMany];
};

}  // namespace stoker::data
