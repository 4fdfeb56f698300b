// Memory of the host for programs.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/growing_arena.h"

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

using SharedArena = GrowingArena<AlignedBlock>;
std::shared_ptr<SharedArena> make_shared_arena();

}  // namespace stoker::cpu
