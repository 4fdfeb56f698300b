// Memory that a device copies from: page-locked where a GPU engine has filled the seam, ordinary
// otherwise. Thread-safe.
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
// What the engine of a device has registered; ordinary memory without one.
HostMemory& pinned_memory();
// `memory` must live until the process ends; nullptr: none any more. Once, before pipelines run.
void register_pinned_memory(HostMemory* memory);

}  // namespace stoker
