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

DevicePool::~DevicePool() { release_kept(); }

void DevicePool::release_kept() {
  for (auto& [bytes, data] : kept_) {
    cudaFree(data);
    held_ -= bytes;
  }
  kept_.clear();
}

void* DevicePool::take(size_t bytes, const char* what) {
  std::lock_guard lock(mutex_);
  size_t wanted = round_up(bytes);
  auto found = kept_.lower_bound(wanted);
  if (found != kept_.end() && double(found->first) <= kWaste * double(wanted)) {
    auto [size, data] = *found;
    kept_.erase(found);
    used_[data] = size;
    in_use_ += size;
    return data;
  }
  device_->use();
  if (limit_ > 0 && held_ + wanted > limit_) release_kept();
  if (limit_ > 0 && held_ + wanted > limit_) out_of_memory(bytes, what);
  void* data = nullptr;
  cudaError_t status = cudaMalloc(&data, wanted);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    release_kept();
    status = cudaMalloc(&data, wanted);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      out_of_memory(bytes, what);
    }
  }
  check(status, "cudaMalloc");
  ++allocations_;
  held_ += wanted;
  in_use_ += wanted;
  used_[data] = wanted;
  return data;
}

void DevicePool::give_back(void* data) noexcept {
  std::lock_guard lock(mutex_);
  auto found = used_.find(data);
  if (found == used_.end()) return;
  in_use_ -= found->second;
  kept_.emplace(found->second, data);
  used_.erase(found);
}

void DevicePool::out_of_memory(size_t bytes, const char* what) const {
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw CudaError(fmt::format(
      "out of memory on {}: {:.1f} MiB for {}, while Stoker holds {:.1f} MiB{} and {:.1f} of "
      "{:.1f} MiB are free; a smaller batch needs less",
      device_->info().name, mebibytes(bytes), what, mebibytes(in_use_),
      limit_ > 0 ? fmt::format(" of the {:.1f} MiB it may", mebibytes(limit_)) : "",
      mebibytes(free), mebibytes(total)));
}

void DevicePool::set_limit(size_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}
size_t DevicePool::in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}
size_t DevicePool::held() const {
  std::lock_guard lock(mutex_);
  return held_;
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

void SharedArena::reserve(size_t bytes) {
  if (bytes <= block_.bytes()) return;
  ++generation_;
  block_ = DeviceBlock();  // first: the old contents are not needed, and both might not fit
  block_ = DeviceBlock(pool_, bytes, "activations, gradients and workspace");
}

}  // namespace stoker::cuda
