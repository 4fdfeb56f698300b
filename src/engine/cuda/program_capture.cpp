// The part of a program that captures a step: in its order, or as what depends on what.
#include "base/tracing.h"
#include "engine/cuda/program.h"

namespace stoker::cuda {

Accesses CudaProgram::accesses_of(const Slot& slot, size_t index) const {
  const Instruction& instruction = parts_.instructions[index];
  Accesses found;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    auto buffer = size_t(instruction.operands[i]);
    found.push_back({slot.addresses[buffer], parts_.buffers[buffer].bytes, i >= instruction.reads});
  }
  // Updates look at the gate that the guard closes.
  bool guards = parts_.guards == index;
  if (gates_updates() && (guards || index >= parts_.first_update))
    found.push_back({arena_->gate().enabled(), 2 * sizeof(int), guards});
  return found;
}

// How long an item takes, about, in small kernels.
double CudaProgram::work_of(size_t item) const {
  constexpr double kLargeFlops = 1e8;
  return item != kGuard && kernels()[item].cost.flops > kLargeFlops ? 3 : 1;
}

// What most waits for is issued first: the rest runs beside it.
void CudaProgram::put_in_order(std::vector<size_t>& items,
                               std::vector<std::vector<int>>& dependencies) const {
  std::vector<double> work;
  work.reserve(items.size());
  for (size_t item : items) work.push_back(work_of(item));
  std::vector<int> order = order_by_urgency(dependencies, work);
  std::vector<int> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[size_t(order[i])] = int(i);
  std::vector<size_t> ordered_items;
  std::vector<std::vector<int>> ordered;
  ordered_items.reserve(order.size());
  ordered.reserve(order.size());
  for (int item : order) {
    ordered_items.push_back(items[size_t(item)]);
    ordered.push_back(std::move(dependencies[size_t(item)]));
    for (int& before : ordered.back()) before = place[size_t(before)];
  }
  items = std::move(ordered_items);
  dependencies = std::move(ordered);
}

// All instructions and the guard, each as soon as what it needs is there.
void CudaProgram::issue_branches(const Slot& slot) {
  std::vector<size_t> items;
  std::vector<Accesses> accesses;
  auto add_guard = [&] {
    if (!gates_updates() || parts_.guards) return;
    items.push_back(kGuard);
    accesses.push_back({{arena_->gate().enabled(), 2 * sizeof(int), true}});
    for (int buffer : {parts_.guard_buffer, parts_.gate_buffer})
      if (buffer >= 0)
        accesses.back().push_back({slot.addresses[size_t(buffer)], sizeof(float), false});
  };
  for (size_t i = 0; i < parts_.instructions.size(); ++i) {
    if (i == parts_.first_update) add_guard();
    if (parts_.instructions[i].once) continue;
    items.push_back(i);
    accesses.push_back(accesses_of(slot, i));
  }
  if (parts_.first_update >= parts_.instructions.size()) add_guard();

  std::vector<std::vector<int>> dependencies = find_dependencies(accesses);
  put_in_order(items, dependencies);
  std::vector<double> work;
  work.reserve(items.size());
  for (size_t item : items) work.push_back(work_of(item));
  std::vector<int> lanes = assign_lanes(dependencies, work, Device::kLanes);
  std::vector<Event> ended(items.size());
  std::vector<bool> is_open(Device::kLanes, false);
  Event start;
  start.record(device_.stream());
  for (size_t i = 0; i < items.size(); ++i) {
    cudaStream_t stream = device_.lane(lanes[i]);
    if (lanes[i] > 0 && !is_open[size_t(lanes[i])])
      check(cudaStreamWaitEvent(stream, start.get()), "opening a branch");
    is_open[size_t(lanes[i])] = true;
    for (int before : dependencies[i])
      if (lanes[size_t(before)] != lanes[i])
        check(cudaStreamWaitEvent(stream, ended[size_t(before)].get()), "joining a branch");
    check(cudnnSetStream(device_.cudnn(), stream), "cuDNN's stream");
    if (items[i] == kGuard)
      issue_guard(slot, stream);
    else
      issue_one(slot, items[i], stream);
    ended[i].record(stream);
  }
  for (int lane = 1; lane < Device::kLanes; ++lane) {
    if (!is_open[size_t(lane)]) continue;
    Event last;
    last.record(device_.lane(lane));
    check(cudaStreamWaitEvent(device_.stream(), last.get()), "joining a branch");
  }
}

void CudaProgram::capture(const Slot& slot, Segments& segments, KernelTimer* timer) {
  TraceScope trace("CUDA: capture");
  for (auto [begin, end] : stretches_) {
    check(cudaStreamBeginCapture(device_.stream(), cudaStreamCaptureModeThreadLocal),
          "capturing a step");
    cudaGraph_t graph = nullptr;
    try {
      if (branches_ && timer == nullptr)
        issue_branches(slot);
      else
        issue(slot, begin, end, timer);
      check(cudnnSetStream(device_.cudnn(), device_.stream()), "cuDNN's stream");
    } catch (...) {
      cudnnSetStream(device_.cudnn(), device_.stream());
      cudaStreamEndCapture(device_.stream(), &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(device_.stream(), &graph), "capturing a step");
    segments.push_back(std::make_unique<CapturedGraph>(graph));
  }
}

}  // namespace stoker::cuda
