// The part of a program that plans its memory, and says what it needs.
#include <algorithm>

#include <fmt/format.h>

#include "engine/cuda/program.h"
#include "engine/out_of_memory.h"
#include "graph/replica.h"

namespace stoker::cuda {

namespace {

// What cuBLASLt and the bulk copies of Hopper's kernels ask of addresses. Where every size is a
// multiple, every offset is.
constexpr size_t kAlignment = 256;
// A step of so little memory has kernels that leave most of a GPU idle.
constexpr size_t kMostForBranches = size_t(256) << 20;
constexpr size_t kMostBranched = 400;  // instructions: finding what depends on what is quadratic

}  // namespace

void CudaProgram::plan_memory() {
  // Where all of it is small, no two buffers share memory, so that nothing waits for nothing. Not
  // where that could be what does not fit.
  size_t most = std::min(kMostForBranches, pool_->free_bytes() / 2);
  // Collectives must begin in the same order on every replica.
  bool sums = std::ranges::any_of(parts_.graph->nodes(), is_collective);
  branches_ = options_.capture && !options_.keep_order && stretches_.size() == 1 && !sums &&
              bytes_without_sharing(parts_.buffers, kAlignment) <= most &&
              parts_.instructions.size() <= kMostBranched;
  PlanOptions options{.unit = kAlignment, .share = !branches_};
  for (const Slot& slot : slots_) options.input_bytes += slot.inputs.bytes();
  plan(parts_.instructions, parts_.buffers, options);
  fill_own();
  reserve_arena();
}

void CudaProgram::fill_own() {
  own_.resize(parts_.buffers.size());
  for (size_t i = 0; i < parts_.buffers.size(); ++i) {
    const BufferInfo& info = parts_.buffers[i];
    if (is_own(info.kind)) own_[i] = DeviceBlock(pool_, info.bytes, "outputs and constants");
    if (info.kind != BufferKind::constant || info.bytes == 0) continue;
    const Tensor& tensor = parts_.graph->constants()[size_t(info.index)].tensor;
    check(cudaMemcpyAsync(own_[i].data(), tensor.raw(), tensor.bytes(), cudaMemcpyHostToDevice,
                          device_.stream()),
          "copying a constant");
  }
  device_.wait();
}

void CudaProgram::reserve_arena() {
  try {
    arena_->reserve(arena_bytes());
  } catch (const OutOfMemoryError& error) {
    size_t others = pool_->in_use() - std::min(pool_->in_use(), memory().total - arena_bytes());
    size_t available = pool_->free_bytes() + pool_->in_use() - others;
    throw OutOfMemoryError(fmt::format("{}; {}", error.what(), describe_needs(memory())),
                           batch_advice(memory(), *parts_.graph, available));
  }
}

}  // namespace stoker::cuda
