// Memory that a device copies batches from. Each engine names its own (Backend::host_memory), and
// whoever feeds the device hands it to the pipeline. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>

namespace stoker {

class HostMemory {
 public:
  virtual ~HostMemory() = default;
  virtual void* allocate(size_t bytes) = 0;  // 64-byte aligned; throws when there is none
  virtual void release(void* memory, size_t bytes) noexcept = 0;
  virtual bool page_locked() const = 0;
};

// A block that goes back when its last owner does. `memory` must live as long.
std::shared_ptr<void> take_shared(HostMemory& memory, size_t bytes);

// Asks for huge pages where they can hold all of it but the ends: rows taken at random from a large
// array then miss the translation buffer 512 times less often. Never fails.
void advise_huge_pages(void* memory, size_t bytes);

HostMemory& ordinary_memory();

}  // namespace stoker
