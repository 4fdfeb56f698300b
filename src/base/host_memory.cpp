#include "base/host_memory.h"

#include <atomic>
#include <new>

namespace stoker {

namespace {

constexpr std::align_val_t kAlignment{64};

class OrdinaryMemory final : public HostMemory {
 public:
  void* allocate(size_t bytes) override { return ::operator new(bytes, kAlignment); }
  void release(void* memory, size_t) noexcept override { ::operator delete(memory, kAlignment); }
  bool page_locked() const override { return false; }
};

std::atomic<HostMemory*>& registered() {
  static std::atomic<HostMemory*> memory = nullptr;
  return memory;
}

}  // namespace

HostMemory& ordinary_memory() {
  static OrdinaryMemory memory;
  return memory;
}

HostMemory& pinned_memory() {
  HostMemory* memory = registered().load();
  return memory != nullptr ? *memory : ordinary_memory();
}

void register_pinned_memory(HostMemory* memory) { registered().store(memory); }

}  // namespace stoker
