// Memory of the device and page-locked memory of the host, as values. Blocks of the device come
// from a pool that keeps what was freed, because cudaMalloc and cudaFree wait for the whole device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/host_memory.h"
#include "engine/cuda/device.h"
#include "engine/cuda/region.h"
#include "engine/growing_arena.h"

namespace stoker::cuda {

// How much of a device may be held.
struct MemoryShare {
  size_t limit = 0;    // bytes; 0: no limit
  bool growth = true;  // false: all of it is taken at the first request
};

// Thread-safe. A request is served from the smallest kept block that fits it closely enough, else
// by cudaMalloc; when that fails, everything kept is given back and it is tried once more. Without
// growth, all requests are places in one block.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  explicit DevicePool(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  ~DevicePool();

  // `what` names in an error what holds the memory: a literal. OutOfMemoryError.
  void* take(size_t bytes, const char* what);
  void give_back(void* data) noexcept;
  void set_share(const MemoryShare& share);
  size_t in_use() const;
  size_t held() const;          // in use and kept
  size_t free_bytes() const;    // of the device, within the limit, and what is kept
  int64_t allocations() const;  // calls of cudaMalloc so far
  const Device& device() const { return *device_; }

 private:
  struct Used {
    size_t bytes;
    const char* what;
  };

  void* mark_used(void* data, size_t bytes, const char* what);
  void* allocate(size_t bytes, const char* what);
  void reserve_all();
  void release_kept() noexcept;
  size_t free_on_device() const;
  [[noreturn]] void out_of_memory(size_t bytes, const char* what) const;

  std::shared_ptr<const Device> device_;
  mutable std::mutex mutex_;
  MemoryShare share_;
  std::multimap<size_t, void*> kept_;
  std::map<void*, Used> used_;
  void* whole_ = nullptr;  // without growth
  Region region_{0};
  size_t in_use_ = 0, held_ = 0;
  int64_t allocations_ = 0;
};

// A block of the device, zeroed. Movable.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(std::shared_ptr<DevicePool> pool, size_t bytes, const char* what);
  ~DeviceBlock();
  DeviceBlock(DeviceBlock&& other) noexcept { *this = std::move(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<DevicePool> pool_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Page-locked memory of the host, also visible to the device at the same address. Zeroed.
class PinnedBlock {
 public:
  PinnedBlock() = default;
  explicit PinnedBlock(size_t bytes);

  void* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* data) const;
  };
  std::unique_ptr<void, Free> data_;
  size_t bytes_ = 0;
};

// What pipelines take their batches from, so that the device can read them where they lie. Blocks
// that were released are kept for the next pipeline, up to a limit: locking pages takes
// milliseconds. Where no more pages can be locked, ordinary memory is handed out instead.
// Thread-safe.
class PageLockedMemory final : public HostMemory {
 public:
  void* allocate(size_t bytes) override;
  void release(void* memory, size_t bytes) noexcept override;
  bool page_locked() const override { return true; }
  bool owns(const void* memory) const;  // also inside a block

 private:
  mutable std::mutex mutex_;
  std::map<const void*, size_t> locked_;  // all blocks of it, idle ones too
  std::multimap<size_t, void*> idle_;
  size_t idle_bytes_ = 0;
};

PageLockedMemory& page_locked_memory();  // lives until the process ends

// The gate of a run's updates, shared by its programs: once a guard was not finite, no program
// updates anything until the host has seen it and opened the gate again.
class Gate {
 public:
  explicit Gate(const std::shared_ptr<DevicePool>& pool);
  int* latch() const { return static_cast<int*>(block_.data()); }
  int* enabled() const { return latch() + 1; }  // two: see Launch
  // Host memory that the device writes: the program and its run that closed the gate; -1: open.
  volatile int64_t* program() const { return static_cast<int64_t*>(seen_.data()); }
  volatile int64_t* run() const { return program() + 1; }
  bool is_closed() const { return *run() >= 0; }
  void open(cudaStream_t stream);  // when the device is idle

 private:
  DeviceBlock block_;
  PinnedBlock seen_;
};

// The scratch memory of a run's programs, and their gate.
class SharedArena final : public GrowingArena<DeviceBlock> {
 public:
  explicit SharedArena(const std::shared_ptr<DevicePool>& pool);
  Gate& gate() { return *gate_; }  // once reserve() was called
  // As the base's. Waits for the device where it grows.
  void reserve(size_t bytes);
  // Which program ran last: the idle time before a run is only known after the same program's.
  void set_last_run(int64_t program) { last_run_ = program; }
  bool runs_after(int64_t program) const { return last_run_ == program; }

 private:
  std::shared_ptr<DevicePool> pool_;
  // Made by reserve(): an arena is older than its first program, and only with that is known how
  // much of the device may be taken.
  std::optional<Gate> gate_;
  int64_t last_run_ = -1;
};

}  // namespace stoker::cuda
