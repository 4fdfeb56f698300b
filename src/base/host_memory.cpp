#include "base/host_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace stoker {

namespace {

constexpr std::align_val_t kHostAlignment{64};

class OrdinaryMemory final : public HostMemory {
 public:
  void* allocate(size_t bytes) override {
    void* memory = ::operator new(bytes, kHostAlignment);
    advise_huge_pages(memory, bytes);
    return memory;
  }
  void release(void* memory, size_t) noexcept override {
    ::operator delete(memory, kHostAlignment);
  }
  bool page_locked() const override { return false; }
};

}  // namespace

std::shared_ptr<void> take_shared(HostMemory& memory, size_t bytes) {
  return {memory.allocate(bytes), [&memory, bytes](void* data) { memory.release(data, bytes); }};
}

void advise_huge_pages(void* memory, size_t bytes) {
  constexpr uintptr_t kHuge = uintptr_t(1) << 21;
  auto begin = (reinterpret_cast<uintptr_t>(memory) + kHuge - 1) / kHuge * kHuge;
  auto end = (reinterpret_cast<uintptr_t>(memory) + bytes) / kHuge * kHuge;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

HostMemory& ordinary_memory() {
  static OrdinaryMemory memory;
  return memory;
}

}  // namespace stoker
