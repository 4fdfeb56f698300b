#include "engine/cpu/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace stoker::cpu {

namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t(2) << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

AlignedBlock::AlignedBlock(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  // Whole huge pages where they are worth it: a step touches tens of megabytes, and 4 KiB pages
  // miss the TLB.
  size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  size_t rounded = round_up(bytes, alignment);
  data_.reset(std::aligned_alloc(alignment, rounded));
  if (data_ == nullptr)
    throw OutOfMemoryError("out of memory: " + std::to_string(bytes >> 20) +
                           " MiB for the CPU engine");
  if (alignment == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
  std::memset(data_.get(), 0, rounded);
}

void AlignedBlock::Free::operator()(void* data) const { std::free(data); }

std::shared_ptr<SharedArena> make_shared_arena() {
  return std::make_shared<SharedArena>([](size_t bytes) { return AlignedBlock(bytes); });
}

}  // namespace stoker::cpu
