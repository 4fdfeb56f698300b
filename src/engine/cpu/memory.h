// Aligned memory, and the scratch memory that the programs of one run share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/backend.h"

namespace stoker::cpu {

// A block of zeroed memory on a cache line (on a huge page when it is large). Movable.
class AlignedBlock {
 public:
  AlignedBlock() = default;
  explicit AlignedBlock(size_t bytes);

  void* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* data) const;
  };
  std::unique_ptr<void, Free> data_;
  size_t bytes_ = 0;
};

// One block that grows to the largest program's needs. Its contents mean nothing between two runs.
class SharedArena final : public Arena {
 public:
  // Grows if need be; then addresses change and the generation rises.
  void reserve(size_t bytes);
  void* data() const { return block_.data(); }
  size_t bytes() const { return block_.bytes(); }
  int64_t generation() const { return generation_; }

 private:
  AlignedBlock block_;
  int64_t generation_ = 0;
};

}  // namespace stoker::cpu
