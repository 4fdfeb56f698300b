// Memory for batches and elements that is used again: a block goes back when the last tensor on it
// is gone. Charged to the budget while it exists. Thread-safe; blocks may outlive the pool.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <stoker/tensor.h>

#include "base/host_memory.h"
#include "data/runtime/budget.h"

namespace stoker::data {

class BlockPool : public IdleMemory, public std::enable_shared_from_this<BlockPool> {
 public:
  BlockPool(std::shared_ptr<MemoryBudget> budget, HostMemory& memory)
      : budget_(std::move(budget)), memory_(memory) {}
  ~BlockPool() override;

  // Uninitialised; bytes: empty strings, which are not kept for later.
  Tensor take(DType dtype, const Shape& shape);
  // What a request really takes.
  static size_t rounded(size_t bytes);
  // Whether a block of that size would come without new memory.
  bool has_free(size_t bytes) const;
  void give_back() override;  // all free blocks

 private:
  void put_back(size_t bytes, void* block);

  std::shared_ptr<MemoryBudget> budget_;
  HostMemory& memory_;
  mutable std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_;  // by size
};

}  // namespace stoker::data
