#include "data/image/scratch.h"

#include <algorithm>
#include <atomic>

namespace stoker::image {
namespace {

constexpr size_t kAlignment = 64;

std::atomic<size_t>& total() {
  static std::atomic<size_t> bytes = 0;
  return bytes;
}

}  // namespace

size_t scratch_bytes() { return total().load(std::memory_order_relaxed); }

uint8_t* Buffer::need(size_t bytes) {
  if (bytes <= capacity_ && memory_ != nullptr) return aligned_;
  size_t grown = std::max(bytes, capacity_ + capacity_ / 2);
  release();
  memory_ = std::make_unique_for_overwrite<uint8_t[]>(grown + kAlignment);
  uintptr_t address = reinterpret_cast<uintptr_t>(memory_.get());
  aligned_ = memory_.get() + (kAlignment - address % kAlignment) % kAlignment;
  capacity_ = grown;
  total().fetch_add(grown, std::memory_order_relaxed);
  return aligned_;
}

void Buffer::release() {
  total().fetch_sub(capacity_, std::memory_order_relaxed);
  memory_.reset();
  aligned_ = nullptr;
  capacity_ = 0;
}

}  // namespace stoker::image
