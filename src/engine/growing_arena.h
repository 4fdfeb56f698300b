// The scratch memory that the programs of one run share: those for whole batches, for the
// remainder batch and for evaluation.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/backend.h"

namespace stoker {

// One block that grows to the largest program's needs. Its contents mean nothing between two runs.
// Block: movable, with data() and bytes().
template <class Block>
class GrowingArena : public Arena {
 public:
  explicit GrowingArena(std::function<Block(size_t bytes)> allocate)
      : allocate_(std::move(allocate)) {}

  // Grows if need be; then addresses change and the generation rises.
  void reserve(size_t bytes) {
    if (bytes <= block_.bytes()) return;
    ++generation_;
    block_ = Block();  // first: the old contents are not needed, and both might not fit
    block_ = allocate_(bytes);
  }
  void* data() const { return block_.data(); }
  void* at(size_t offset) const { return static_cast<char*>(block_.data()) + offset; }
  size_t bytes() const { return block_.bytes(); }
  int64_t generation() const { return generation_; }

 private:
  std::function<Block(size_t bytes)> allocate_;
  Block block_;
  int64_t generation_ = 0;
};

}  // namespace stoker
