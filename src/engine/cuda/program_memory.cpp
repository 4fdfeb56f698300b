// The part of a program that plans its memory, and says what it needs.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "engine/cuda/program.h"
#include "engine/out_of_memory.h"

namespace stoker::cuda {

namespace {

// What cuBLASLt and the bulk copies of Hopper's kernels ask of addresses. Where every size is a
// multiple, every offset is.
size_t aligned(size_t bytes) {
  constexpr size_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// A step of so little memory has kernels that leave most of a GPU idle.
constexpr size_t kMostForBranches = size_t(256) << 20;
constexpr size_t kMostBranched = 400;  // instructions: finding what depends on what is quadratic

}  // namespace

void CudaProgram::plan() {
  std::vector<Buffer> planned;
  std::vector<size_t> which;
  std::vector<std::pair<int, int>> life(parts_.buffers.size(), {-1, -1});
  for (size_t i = 0; i < parts_.instructions.size(); ++i)
    for (int buffer : parts_.instructions[i].operands) {
      auto& [begin, end] = life[size_t(buffer)];
      if (begin < 0) begin = int(i);
      end = int(i);
    }
  // Where all of it is small, no two buffers share memory, so that nothing waits for nothing. Not
  // where that could be what does not fit.
  size_t in_all = 0, most = std::min(kMostForBranches, pool_->free_bytes() / 2);
  for (const BufferInfo& info : parts_.buffers)
    if (info.kind == BufferKind::arena) in_all += aligned(info.bytes);
  branches_ = options_.capture && !options_.keep_order && stretches_.size() == 1 &&
              in_all <= most && parts_.instructions.size() <= kMostBranched;
  attribute_memory(life);
  if (branches_)
    for (auto& [begin, end] : life)
      if (begin >= 0) std::tie(begin, end) = std::pair(0, int(parts_.instructions.size()) - 1);
  own_.resize(parts_.buffers.size());
  for (size_t i = 0; i < parts_.buffers.size(); ++i) {
    const BufferInfo& info = parts_.buffers[i];
    if (info.kind == BufferKind::output || info.kind == BufferKind::constant ||
        info.kind == BufferKind::fixed || info.kind == BufferKind::zeroed)
      own_[i] = DeviceBlock(pool_, info.bytes, "outputs and constants");
    if (info.kind == BufferKind::constant && info.bytes > 0) {
      const Tensor& tensor = parts_.graph->constants()[size_t(info.index)].tensor;
      check(cudaMemcpyAsync(own_[i].data(), tensor.raw(), tensor.bytes(), cudaMemcpyHostToDevice,
                            device_.stream()),
            "copying a constant");
    }
    if (info.kind != BufferKind::arena || life[i].first < 0) continue;
    planned.push_back({aligned(info.bytes), life[i].first, life[i].second, info.category});
    which.push_back(i);
  }
  device_.wait();
  MemoryPlan plan = plan_memory(planned);
  offsets_.assign(parts_.buffers.size(), 0);
  for (size_t i = 0; i < which.size(); ++i) offsets_[which[i]] = plan.offsets[i];
  arena_bytes_ = plan.peak;
  report(plan);
  reserve_arena();
}

// Outputs stay until the next run; where no two buffers share memory, all are held all the time.
void CudaProgram::attribute_memory(std::span<const std::pair<int, int>> life) {
  std::vector<Buffer> held;
  size_t all = 0;
  for (size_t i = 0; i < parts_.buffers.size(); ++i) {
    const BufferInfo& info = parts_.buffers[i];
    bool output = info.kind == BufferKind::output;
    if ((!output && info.kind != BufferKind::arena) || life[i].first < 0) continue;
    int end = output ? int(kernels_.size()) - 1 : life[i].second;
    held.push_back({aligned(info.bytes), life[i].first, end, info.category});
    all += held.back().bytes;
  }
  std::vector<StepMemory> memory = memory_of_steps(held, kernels_.size());
  for (size_t i = 0; i < kernels_.size(); ++i) {
    kernels_[i].memory = memory[i].begun;
    kernels_[i].live = branches_ ? all : memory[i].live;
  }
}

void CudaProgram::reserve_arena() {
  try {
    arena_->reserve(arena_bytes_);
  } catch (const OutOfMemoryError& error) {
    size_t others = pool_->in_use() - std::min(pool_->in_use(), memory_.total - arena_bytes_);
    size_t available = pool_->free_bytes() + pool_->in_use() - others;
    throw OutOfMemoryError(fmt::format("{}; {}", error.what(), describe_needs(memory_)),
                           batch_advice(memory_, *parts_.graph, available));
  }
}

void CudaProgram::report(const MemoryPlan& plan) {
  memory_.arena = plan.peak;
  size_t live = 0;
  for (size_t c = 0; c < kMemoryCategories; ++c) {
    memory_.bytes[c] = plan.at_peak[c];
    live += plan.at_peak[c];
  }
  memory_.bytes[size_t(MemoryCategory::workspace)] += plan.peak - live;
  memory_.total = plan.peak;
  auto add = [&](MemoryCategory category, size_t bytes) {
    memory_.bytes[size_t(category)] += bytes;
    memory_.total += bytes;
  };
  for (const DeviceBlock& block : own_)
    if (block.bytes() > 0) add(MemoryCategory::activations, block.bytes());
  for (const Slot& slot : slots_) add(MemoryCategory::inputs, slot.inputs.bytes());
  for (size_t i = 0; i < parts_.homes.size(); ++i)
    add(parts_.graph->variables()[i].variable.category(), parts_.homes[i]->bytes());
}

}  // namespace stoker::cuda
