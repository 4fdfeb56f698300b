#include "engine/cuda/program.h"

#include <atomic>

#include <fmt/format.h>

#include "engine/collective.h"
#include "engine/cuda/kernels/update.h"

namespace stoker::cuda {

namespace {

int64_t next_id() {
  static std::atomic<int64_t> next = 0;
  return next++;
}

}  // namespace

CudaProgram::CudaProgram(ProgramParts parts, std::shared_ptr<SharedArena> arena,
                         std::shared_ptr<DevicePool> pool, const CompileOptions& options)
    : PlannedProgram(*parts.graph),
      parts_(std::move(parts)),
      arena_(std::move(arena)),
      pool_(std::move(pool)),
      device_(pool_->device()),
      options_(options),
      knobs_{.capture = options.capture, .pin = options.pin},
      run_number_(pool_, sizeof(int64_t), "counters"),
      id_(next_id()),
      timer_(device_) {
  options_.arena.reset();
  for (int i = 0; i <= std::max(options.status_lag, 0); ++i)
    slots_.push_back({InputSlot(pool_, *parts_.graph), {}, {}, {}});
  size_t begin = 0;
  for (size_t i = 0; i < parts_.instructions.size(); ++i) {
    if (!parts_.instructions[i].on_host) continue;
    stretches_.emplace_back(begin, i);
    begin = i + 1;
  }
  stretches_.emplace_back(begin, parts_.instructions.size());
  plan_memory();
  for (const GraphVariable& variable : parts_.graph->variables())
    variables_.push_back(variable.variable);
  for (size_t i = 0; i < variables_.size(); ++i) take(variables_[i], parts_.homes[i]);
}

CudaProgram::~CudaProgram() {
  cudaStreamSynchronize(device_.copies());
  cudaStreamSynchronize(device_.stream());
}

// --- addresses ---

void CudaProgram::bind_all() {
  arena_->reserve(arena_bytes());
  generation_ = arena_->generation();
  for (Slot& slot : slots_) {
    slot.segments.clear();
    slot.timed.clear();
    slot.addresses.assign(parts_.buffers.size(), nullptr);
    for (size_t i = 0; i < parts_.buffers.size(); ++i) {
      const BufferInfo& info = parts_.buffers[i];
      if (info.kind == BufferKind::arena)
        slot.addresses[i] = arena_->at(offset_of(i));
      else if (info.kind == BufferKind::variable)
        slot.addresses[i] = parts_.homes[size_t(info.index)]->data();
      else if (info.kind == BufferKind::input)
        slot.addresses[i] = slot.inputs.data(size_t(info.index));
      else
        slot.addresses[i] = own_[i].data();
    }
  }
}

void CudaProgram::upload(Slot& slot, std::span<const Tensor> inputs) {
  for (Slot& other : slots_) other.inputs.release();
  timer_.begin_run(runs_, arena_->runs_after(id_));
  if (knobs_.reuse_inputs && slot.inputs.is_filled()) {
    timer_.begin_copies(device_.copies());
    timer_.end_copies(device_.copies());
    return;
  }
  if (!knobs_.pin)
    slot.inputs.upload_in_line(inputs, timer_);
  else if (slot.inputs.upload(inputs, timer_))
    ++counts_.throttles;
}

CudaProgram::Slot& CudaProgram::prepare(std::span<const Tensor> inputs) {
  check_inputs(*parts_.graph, inputs);
  for (size_t i = 0; i < variables_.size(); ++i) take(variables_[i], parts_.homes[i]);
  if (generation_ != arena_->generation()) {
    wait();
    bind_all();
  }
  last_slot_ = size_t(runs_) % slots_.size();
  Slot& slot = slots_[last_slot_];
  upload(slot, inputs);
  return slot;
}

// --- running ---

GuardCall CudaProgram::guard_of(const Slot& slot) const {
  Gate& gate = arena_->gate();
  auto scalar = [&](int buffer) {
    return buffer < 0 ? nullptr : static_cast<const float*>(slot.addresses[size_t(buffer)]);
  };
  GuardCall call;
  call.guard = scalar(parts_.guard_buffer);
  call.gate = scalar(parts_.gate_buffer);
  call.latch = gate.latch();
  call.enabled = gate.enabled();
  call.run = static_cast<int64_t*>(run_number_.data());
  call.program = id_;
  call.bad_program = gate.program();
  call.bad_run = gate.run();
  return call;
}

void CudaProgram::issue_one(const Slot& slot, size_t index, cudaStream_t stream, Guards guards) {
  const Instruction& instruction = parts_.instructions[index];
  std::optional<GuardCall> guard;
  if (parts_.guards == index && guards == Guards::on) guard = guard_of(slot);
  std::vector<void*> addresses;
  addresses.reserve(instruction.operands.size());
  for (int buffer : instruction.operands) addresses.push_back(slot.addresses[size_t(buffer)]);
  try {
    instruction.run({device_, stream, addresses,
                     gates_updates() ? arena_->gate().enabled() : nullptr,
                     guard ? &*guard : nullptr});
  } catch (const CudaError& error) {
    throw CudaError(
        fmt::format("{} \"{}\": {}", instruction.info.op, instruction.info.scope, error.what()));
  }
}

void CudaProgram::issue_guard(const Slot& slot, cudaStream_t stream) {
  if (gates_updates() && !parts_.guards) run_guard(guard_of(slot), stream);
}

void CudaProgram::issue(const Slot& slot, size_t begin, size_t end, KernelTimer* timer) {
  for (size_t i = begin; i < end; ++i) {
    if (i == parts_.first_update) issue_guard(slot, device_.stream());
    if (timer != nullptr && (i == begin || i == parts_.first_update))
      timer->begin(i, device_.stream());
    if (!parts_.instructions[i].once || runs_ == 0) issue_one(slot, i, device_.stream());
    if (timer != nullptr) timer->end(i, device_.stream());
  }
  // Without updates the guard still counts.
  if (end == parts_.instructions.size() && parts_.first_update >= end)
    issue_guard(slot, device_.stream());
}

void CudaProgram::replay(Slot& slot, KernelTimer* timer) {
  // What is timed is captured in any case, so that the device does not wait for the host.
  bool captured = (knobs_.capture || timer != nullptr) && runs_ > 0;
  Segments& segments = timer != nullptr ? slot.timed : slot.segments;
  if (captured && segments.empty()) capture(slot, segments, timer);
  for (size_t i = 0; i < stretches_.size(); ++i) {
    auto [begin, end] = stretches_[i];
    if (captured) {
      if (segments[i]->nodes() > 0) segments[i]->launch(device_.stream());
      if (i == 0) timer_.kernels_issued();
      ++counts_.launches;
    } else {
      issue(slot, begin, end, timer);
      counts_.launches += int64_t(end - begin);
    }
    if (end < parts_.instructions.size()) {
      if (timer != nullptr) timer->begin(end, device_.stream());
      issue_one(slot, end, device_.stream());
      if (timer != nullptr) timer->end(end, device_.stream());
      counts_.synchronisations += 2;
    }
  }
}

void CudaProgram::end_run(Slot& slot) {
  slot.inputs.mark_used(timer_.end_kernels());
  arena_->set_last_run(id_);
  ++runs_;
}

RunStatus CudaProgram::run(std::span<const Tensor> inputs) {
  Device::Turn turn(device_);
  if (has_guard() && arena_->gate().is_closed()) return RunStatus::skipped_non_finite;
  Slot& slot = prepare(inputs);
  timer_.begin_kernels();
  replay(slot, nullptr);
  end_run(slot);
  count_changes(*parts_.graph, parts_.homes);
  if (!has_guard() || options_.status_lag > 0) return RunStatus::ok;
  wait();
  return take_status();
}

void CudaProgram::wait_for_outputs() const {
  device_.wait();
  ++counts_.synchronisations;
}

void CudaProgram::wait() {
  wait_for_outputs();
  for (Slot& slot : slots_) slot.inputs.release_all();  // every run waited for its copies
}

// The device is idle. Forgets what it tells.
RunStatus CudaProgram::take_status() {
  Gate& gate = arena_->gate();
  if (!has_guard() || !gate.is_closed()) return RunStatus::ok;
  gate.open(device_.stream());
  return RunStatus::skipped_non_finite;
}

RunStatus CudaProgram::status() {
  Device::Turn turn(device_);
  wait();
  return has_guard() && arena_->gate().is_closed() ? RunStatus::skipped_non_finite : RunStatus::ok;
}

int64_t CudaProgram::runs_behind() const {
  Gate& gate = arena_->gate();
  bool mine = has_guard() && gate.is_closed() && *gate.program() == id_;
  return mine ? runs_ - *gate.run() : 0;
}

// All that later runs replay, timed or not, so that none of them is slower for it.
void CudaProgram::capture_all(KernelTimer& timer) {
  if (runs_ == 0) return;
  for (Slot& slot : slots_) {
    if (slot.timed.empty()) capture(slot, slot.timed, &timer);
    if (slot.segments.empty() && knobs_.capture) capture(slot, slot.segments, nullptr);
  }
}

// Marks between the kernels measure the device's time alone, not how fast the host issues them.
RunStatus CudaProgram::run_timed(std::span<const Tensor> inputs,
                                 std::vector<int64_t>& nanoseconds) {
  Device::Turn turn(device_);
  if (!kernel_timer_) kernel_timer_ = std::make_unique<KernelTimer>(parts_.instructions.size());
  Slot& slot = prepare(inputs);
  capture_all(*kernel_timer_);
  timer_.begin_kernels();
  replay(slot, kernel_timer_.get());
  end_run(slot);
  wait();
  kernel_timer_->read(nanoseconds);
  return take_status();
}

std::optional<NonFinite> CudaProgram::find_non_finite(std::span<const Tensor> inputs) {
  Device::Turn turn(device_);
  AloneReplica alone(*parts_.graph);
  Gate& gate = arena_->gate();
  wait();
  bool replays = has_guard() && gate.is_closed() && *gate.program() == id_;
  // The batch that closed the gate still lies in its slot.
  Slot& slot = replays ? slots_[size_t(*gate.run()) % slots_.size()] : prepare(inputs);
  gate.open(device_.stream());
  DeviceBlock flag(pool_, sizeof(int), "flags");
  for (size_t i = 0; i < parts_.first_update; ++i) {
    issue_one(slot, i, device_.stream(), Guards::off);
    for (auto [value, buffer] : parts_.instructions[i].results) {
      if (value < 0 || !is_floating(parts_.graph->spec(value).dtype)) continue;
      const TensorSpec& spec = parts_.graph->spec(value);
      const Node* node = parts_.graph->producer(value);
      if (node == nullptr) continue;
      run_find_non_finite(spec.dtype, slot.addresses[size_t(buffer)], spec.shape.elements(),
                          static_cast<int*>(flag.data()), device_.stream());
      int bad = 0;
      check(
          cudaMemcpyAsync(&bad, flag.data(), sizeof bad, cudaMemcpyDeviceToHost, device_.stream()),
          "reading a flag");
      wait();
      if (bad != 0) return NonFinite{node->op->name, node->scope, spec};
    }
  }
  return std::nullopt;
}

void CudaProgram::read_output(size_t index, void* to, size_t bytes) const {
  Device::Turn turn(device_);
  if (bytes == 0) return;
  const void* data = slots_[last_slot_].addresses[size_t(parts_.output_buffers[index])];
  check(cudaMemcpyAsync(to, data, bytes, cudaMemcpyDeviceToHost, device_.stream()),
        "reading an output");
  wait_for_outputs();
}

DeviceCounts CudaProgram::device_counts() const {
  DeviceCounts counts = counts_;
  counts.allocations = pool_->allocations();
  counts.bytes = pool_->in_use();
  return counts;
}

size_t CudaProgram::graph_nodes() const {
  size_t nodes = 0;
  for (const auto& segment : slots_[last_slot_].segments) nodes += segment->nodes();
  return nodes;
}

}  // namespace stoker::cuda
