// Memory for what arrives, used again: the block that was given back last is still in a cache.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace stoker::distribute::mpi {

class Scratch {
 public:
  struct Block {
    std::unique_ptr<std::byte[]> data;  // its contents are not set
    size_t bytes = 0;
  };

  Block take(size_t bytes) {
    for (size_t i = free_.size(); i-- > 0;) {
      if (free_[i].bytes < bytes) continue;
      Block found = std::move(free_[i]);
      free_.erase(free_.begin() + std::ptrdiff_t(i));
      return found;
    }
    return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  }
  void give_back(Block& block) {
    if (block.data != nullptr) free_.push_back(std::exchange(block, {}));
  }

 private:
  std::vector<Block> free_;
};

}  // namespace stoker::distribute::mpi
