#include "data/runtime/blocks.h"

namespace stoker::data {

BlockPool::~BlockPool() { give_back(); }

void BlockPool::give_back() {
  std::map<size_t, std::vector<void*>> blocks_of;
  {
    std::lock_guard lock(mutex_);
    blocks_of.swap(free_);
  }
  for (auto& [bytes, blocks] : blocks_of)
    for (void* block : blocks) {
      memory_.release(block, bytes);
      budget_->release(int64_t(bytes));
    }
}

// Sizes that differ by less than an eighth share blocks.
size_t BlockPool::rounded(size_t bytes) {
  size_t step = 64;
  while (step * 16 < bytes) step *= 2;
  return std::max<size_t>((bytes + step - 1) / step * step, 64);
}

bool BlockPool::has_free(size_t bytes) const {
  std::lock_guard lock(mutex_);
  auto found = free_.find(rounded(bytes));
  return found != free_.end() && !found->second.empty();
}

Tensor BlockPool::take(DType dtype, const Shape& shape) {
  if (dtype == DType::bytes) return {dtype, shape};
  size_t bytes = rounded(size_t(shape.elements()) * size_of(dtype));
  void* block = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto found = free_.find(bytes);
    if (found != free_.end() && !found->second.empty()) {
      block = found->second.back();
      found->second.pop_back();
    }
  }
  if (block == nullptr) {
    block = memory_.allocate(bytes);
    budget_->charge(int64_t(bytes));
  }
  std::shared_ptr<void> owner(
      block, [pool = shared_from_this(), bytes](void* memory) { pool->put_back(bytes, memory); });
  return Tensor::wrap(std::move(owner), block, dtype, shape);
}

void BlockPool::put_back(size_t bytes, void* block) {
  std::lock_guard lock(mutex_);
  free_[bytes].push_back(block);
}

}  // namespace stoker::data
