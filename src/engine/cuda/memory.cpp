#include "engine/cuda/memory.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace stoker::cuda {

namespace {

constexpr size_t kUnit = 512;  // what cudaMalloc aligns to, and the least worth keeping apart
constexpr double kWaste = 1.25;

size_t round_up(size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }
double mebibytes(size_t bytes) { return double(bytes) / double(1 << 20); }

}  // namespace

DevicePool::~DevicePool() {
  release_kept();
  if (whole_ != nullptr) cudaFree(whole_);
}

void DevicePool::release_kept() noexcept {
  for (auto& [bytes, data] : kept_) {
    cudaFree(data);
    held_ -= bytes;
  }
  kept_.clear();
}

// --- taking ---

void* DevicePool::take(size_t bytes, const char* what) {
  std::lock_guard lock(mutex_);
  device_->use();
  size_t wanted = round_up(bytes);
  if (!share_.growth && whole_ == nullptr && held_ == 0) reserve_all();
  if (whole_ != nullptr) {
    std::optional<size_t> place = region_.take(wanted);
    if (!place) out_of_memory(bytes, what);
    return mark_used(static_cast<char*>(whole_) + *place, wanted, what);
  }
  auto found = kept_.lower_bound(wanted);
  if (found != kept_.end() && double(found->first) <= kWaste * double(wanted)) {
    auto [size, data] = *found;
    kept_.erase(found);
    return mark_used(data, size, what);
  }
  return mark_used(allocate(wanted, what), wanted, what);
}

void* DevicePool::mark_used(void* data, size_t bytes, const char* what) {
  used_[data] = {bytes, what};
  in_use_ += bytes;
  return data;
}

void* DevicePool::allocate(size_t bytes, const char* what) {
  if (share_.limit > 0 && held_ + bytes > share_.limit) release_kept();
  if (share_.limit > 0 && held_ + bytes > share_.limit) out_of_memory(bytes, what);
  void* data = nullptr;
  cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    release_kept();
    status = cudaMalloc(&data, bytes);
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    out_of_memory(bytes, what);
  }
  check(status, "cudaMalloc");
  ++allocations_;
  held_ += bytes;
  return data;
}

// All that may be held; without a limit, what is free but for a little that libraries need.
void DevicePool::reserve_all() {
  constexpr size_t kForLibraries = size_t(512) << 20;
  size_t free = free_on_device(), usable = free - std::min(free, kForLibraries);
  size_t bytes = (share_.limit > 0 ? std::min(share_.limit, usable) : usable) / kUnit * kUnit;
  const char* what = "all the memory there is, because memory_growth is off";
  if (bytes == 0) out_of_memory(kUnit, what);  // another process holds it
  whole_ = allocate(bytes, what);
  region_ = Region(bytes);
}

void DevicePool::give_back(void* data) noexcept {
  std::lock_guard lock(mutex_);
  auto found = used_.find(data);
  if (found == used_.end()) return;
  size_t bytes = found->second.bytes;
  in_use_ -= bytes;
  used_.erase(found);
  if (whole_ != nullptr)
    region_.give_back(size_t(static_cast<char*>(data) - static_cast<char*>(whole_)), bytes);
  else
    kept_.emplace(bytes, data);
}

// --- telling ---

size_t DevicePool::free_on_device() const {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return free;
}

void DevicePool::out_of_memory(size_t bytes, const char* what) const {
  std::map<std::string, size_t> by_what;
  for (const auto& [data, used] : used_) by_what[used.what] += used.bytes;
  std::string holders;
  for (const auto& [name, sum] : by_what)
    holders += fmt::format("{}{} {:.1f} MiB", holders.empty() ? "" : ", ", name, mebibytes(sum));
  throw OutOfMemoryError(fmt::format(
      "out of memory on {}: {:.1f} MiB for {} do not fit. Stoker holds {:.1f} MiB{}{}; {:.1f} of "
      "{:.1f} MiB of the device are free",
      device_->info().name, mebibytes(bytes), what, mebibytes(in_use_),
      share_.limit > 0 ? fmt::format(" of the {:.1f} MiB it may", mebibytes(share_.limit)) : "",
      holders.empty() ? "" : fmt::format(" ({})", holders), mebibytes(free_on_device()),
      mebibytes(device_->info().memory)));
}

void DevicePool::set_share(const MemoryShare& share) {
  std::lock_guard lock(mutex_);
  share_ = share;
}
size_t DevicePool::in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}
size_t DevicePool::held() const {
  std::lock_guard lock(mutex_);
  return held_;
}
size_t DevicePool::free_bytes() const {
  std::lock_guard lock(mutex_);
  device_->use();
  if (whole_ != nullptr) return region_.largest();
  size_t free = free_on_device() + held_ - in_use_;
  return share_.limit > 0 ? std::min(free, share_.limit - std::min(share_.limit, in_use_)) : free;
}
int64_t DevicePool::allocations() const {
  std::lock_guard lock(mutex_);
  return allocations_;
}

DeviceBlock::DeviceBlock(std::shared_ptr<DevicePool> pool, size_t bytes, const char* what)
    : pool_(std::move(pool)), bytes_(bytes) {
  if (bytes == 0) return;
  data_ = pool_->take(bytes, what);
  check(cudaMemsetAsync(data_, 0, bytes, pool_->device().stream()), "zeroing new memory");
}

DeviceBlock::~DeviceBlock() {
  if (data_ == nullptr) return;
  cudaStreamSynchronize(pool_->device().stream());  // what still uses it must have ended
  pool_->give_back(data_);
}

DeviceBlock& DeviceBlock::operator=(DeviceBlock&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedBlock::PinnedBlock(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* data = nullptr;
  check(cudaHostAlloc(&data, bytes, cudaHostAllocMapped), "page-locked memory");
  data_.reset(data);
  std::memset(data, 0, bytes);
}

void PinnedBlock::Free::operator()(void* data) const { cudaFreeHost(data); }

namespace {
constexpr size_t kMostIdle = size_t(512) << 20;
}

void* PageLockedMemory::allocate(size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    if (auto found = idle_.find(bytes); found != idle_.end()) {
      void* memory = found->second;
      idle_.erase(found);
      idle_bytes_ -= bytes;
      return memory;
    }
  }
  void* memory = nullptr;
  if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) {
    cudaGetLastError();
    return ordinary_memory().allocate(bytes);
  }
  std::lock_guard lock(mutex_);
  locked_[memory] = bytes;
  return memory;
}

void PageLockedMemory::release(void* memory, size_t bytes) noexcept {
  {
    std::lock_guard lock(mutex_);
    auto found = locked_.find(memory);
    if (found == locked_.end()) return ordinary_memory().release(memory, bytes);
    if (idle_bytes_ + bytes <= kMostIdle) {
      idle_.emplace(bytes, memory);
      idle_bytes_ += bytes;
      return;
    }
    locked_.erase(found);
  }
  cudaFreeHost(memory);
}

bool PageLockedMemory::owns(const void* memory) const {
  std::lock_guard lock(mutex_);
  auto after = locked_.upper_bound(memory);
  if (after == locked_.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return memory < static_cast<const char*>(begin) + bytes;
}

PageLockedMemory& page_locked_memory() {
  static auto* memory =
      std::make_unique<PageLockedMemory>().release();  // pipelines may outlive statics
  return *memory;
}

Gate::Gate(const std::shared_ptr<DevicePool>& pool)
    : block_(pool, 3 * sizeof(int), "the gate of updates"), seen_(2 * sizeof(int64_t)) {
  *program() = -1;
  *run() = -1;
}

void Gate::open(cudaStream_t stream) {
  check(cudaMemsetAsync(block_.data(), 0, block_.bytes(), stream), "opening the gate of updates");
  *program() = -1;
  *run() = -1;
}

SharedArena::SharedArena(const std::shared_ptr<DevicePool>& pool)
    : GrowingArena([pool](size_t bytes) {
        return DeviceBlock(pool, bytes, "activations, gradients and workspace");
      }),
      pool_(pool) {}

void SharedArena::reserve(size_t bytes) {
  if (!gate_) gate_.emplace(pool_);
  GrowingArena::reserve(bytes);
}

}  // namespace stoker::cuda
