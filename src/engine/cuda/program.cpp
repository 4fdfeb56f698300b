#include "engine/cuda/program.h"

#include <array>
#include <atomic>
#include <cstring>
#include <tuple>

#include <fmt/format.h>

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
    : parts_(std::move(parts)),
      arena_(std::move(arena)),
      pool_(std::move(pool)),
      device_(pool_->device()),
      options_(options),
      knobs_{.capture = options.capture, .pin = options.pin},
      run_number_(pool_, sizeof(int64_t), "counters"),
      id_(next_id()),
      timer_(device_) {
  options_.arena.reset();
  for (const Instruction& instruction : parts_.instructions) kernels_.push_back(instruction.info);
  for (int i = 0; i <= std::max(options.status_lag, 0); ++i)
    slots_.push_back({InputSlot(pool_, *parts_.graph), {}, {}});
  size_t begin = 0;
  for (size_t i = 0; i < parts_.instructions.size(); ++i) {
    if (!parts_.instructions[i].on_host) continue;
    stretches_.emplace_back(begin, i);
    begin = i + 1;
  }
  stretches_.emplace_back(begin, parts_.instructions.size());
  plan();
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
  arena_->reserve(arena_bytes_);
  generation_ = arena_->generation();
  for (Slot& slot : slots_) {
    slot.segments.clear();
    slot.addresses.assign(parts_.buffers.size(), nullptr);
    for (size_t i = 0; i < parts_.buffers.size(); ++i) {
      const BufferInfo& info = parts_.buffers[i];
      switch (info.kind) {
        case BufferKind::arena:
          slot.addresses[i] = static_cast<char*>(arena_->data()) + offsets_[i];
          break;
        case BufferKind::output:
        case BufferKind::constant:
        case BufferKind::fixed:
        case BufferKind::zeroed:
          slot.addresses[i] = own_[i].data();
          break;
        case BufferKind::variable:
          slot.addresses[i] = parts_.homes[size_t(info.index)]->data();
          break;
        case BufferKind::input:
          slot.addresses[i] = slot.inputs.data(size_t(info.index));
          break;
      }
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
  device_.use();
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

void CudaProgram::issue_one(const Slot& slot, size_t index, cudaStream_t stream) {
  const Instruction& instruction = parts_.instructions[index];
  std::vector<void*> addresses;
  addresses.reserve(instruction.operands.size());
  for (int buffer : instruction.operands) addresses.push_back(slot.addresses[size_t(buffer)]);
  try {
    instruction.run(
        {device_, stream, addresses, gates_updates() ? arena_->gate().enabled() : nullptr});
  } catch (const CudaError& error) {
    throw CudaError(
        fmt::format("{} \"{}\": {}", instruction.info.op, instruction.info.scope, error.what()));
  }
}

void CudaProgram::issue_guard(const Slot& slot, cudaStream_t stream) {
  if (!gates_updates()) return;
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
  run_guard(call, stream);
}

void CudaProgram::issue(const Slot& slot, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (i == parts_.first_update) issue_guard(slot, device_.stream());
    if (!parts_.instructions[i].once || runs_ == 0) issue_one(slot, i, device_.stream());
  }
  // Without updates the guard still counts.
  if (end == parts_.instructions.size() && parts_.first_update >= end)
    issue_guard(slot, device_.stream());
}

// --- branches ---

Accesses CudaProgram::accesses_of(const Slot& slot, size_t index) const {
  const Instruction& instruction = parts_.instructions[index];
  Accesses found;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    auto buffer = size_t(instruction.operands[i]);
    found.push_back({slot.addresses[buffer], parts_.buffers[buffer].bytes, i >= instruction.reads});
  }
  // Updates look at the gate that the guard closes.
  if (gates_updates() && index >= parts_.first_update)
    found.push_back({arena_->gate().enabled(), 2 * sizeof(int), false});
  return found;
}

// All instructions and the guard, each as soon as what it needs is there.
// What most waits for is issued first: the rest runs beside it.
void CudaProgram::put_in_order(std::vector<size_t>& items,
                               std::vector<std::vector<int>>& dependencies) const {
  constexpr double kLargeFlops = 1e6;  // more than a launch takes
  std::vector<double> work;
  work.reserve(items.size());
  for (size_t item : items)
    work.push_back(item != kGuard && kernels_[item].cost.flops > kLargeFlops ? 2 : 1);
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

void CudaProgram::issue_branches(const Slot& slot) {
  std::vector<size_t> items;
  std::vector<Accesses> accesses;
  auto add_guard = [&] {
    if (!gates_updates()) return;
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
  std::vector<int> lanes = assign_lanes(dependencies, Device::kLanes);
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

void CudaProgram::capture(Slot& slot) {
  for (auto [begin, end] : stretches_) {
    check(cudaStreamBeginCapture(device_.stream(), cudaStreamCaptureModeThreadLocal),
          "capturing a step");
    cudaGraph_t graph = nullptr;
    try {
      if (branches_)
        issue_branches(slot);
      else
        issue(slot, begin, end);
      check(cudnnSetStream(device_.cudnn(), device_.stream()), "cuDNN's stream");
    } catch (...) {
      cudnnSetStream(device_.cudnn(), device_.stream());
      cudaStreamEndCapture(device_.stream(), &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(device_.stream(), &graph), "capturing a step");
    slot.segments.push_back(std::make_unique<CapturedGraph>(graph));
  }
}

void CudaProgram::replay(Slot& slot) {
  bool captured = knobs_.capture && runs_ > 0;
  if (captured && slot.segments.empty()) capture(slot);
  for (size_t i = 0; i < stretches_.size(); ++i) {
    auto [begin, end] = stretches_[i];
    if (captured) {
      if (slot.segments[i]->nodes() > 0) slot.segments[i]->launch(device_.stream());
      ++counts_.launches;
    } else {
      issue(slot, begin, end);
      counts_.launches += int64_t(end - begin);
    }
    if (end < parts_.instructions.size()) {
      issue_one(slot, end, device_.stream());
      counts_.synchronisations += 2;
    }
  }
}

void CudaProgram::end_run(Slot& slot) {
  timer_.end_kernels();
  slot.inputs.mark_used();
  arena_->set_last_run(id_);
  ++runs_;
}

RunStatus CudaProgram::run(std::span<const Tensor> inputs) {
  if (has_guard() && arena_->gate().is_closed()) return RunStatus::skipped_non_finite;
  Slot& slot = prepare(inputs);
  timer_.begin_kernels();
  replay(slot);
  end_run(slot);
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
  wait();
  return has_guard() && arena_->gate().is_closed() ? RunStatus::skipped_non_finite : RunStatus::ok;
}

int64_t CudaProgram::runs_behind() const {
  Gate& gate = arena_->gate();
  bool mine = has_guard() && gate.is_closed() && *gate.program() == id_;
  return mine ? runs_ - *gate.run() : 0;
}

RunStatus CudaProgram::run_timed(std::span<const Tensor> inputs,
                                 std::vector<int64_t>& nanoseconds) {
  Slot& slot = prepare(inputs);
  std::vector<Event> events;
  for (size_t i = 0; i <= parts_.instructions.size(); ++i) events.emplace_back(Event::Timing::on);
  timer_.begin_kernels();
  events[0].record(device_.stream());
  for (size_t i = 0; i < parts_.instructions.size(); ++i) {
    if (i == parts_.first_update) issue_guard(slot, device_.stream());
    issue_one(slot, i, device_.stream());
    events[i + 1].record(device_.stream());
  }
  if (parts_.first_update >= parts_.instructions.size()) issue_guard(slot, device_.stream());
  end_run(slot);
  wait();
  nanoseconds.assign(parts_.instructions.size(), 0);
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, events[i].get(), events[i + 1].get()), "timing a kernel");
    nanoseconds[i] = int64_t(double(ms) * 1e6);
  }
  return take_status();
}

std::optional<NonFinite> CudaProgram::find_non_finite(std::span<const Tensor> inputs) {
  Gate& gate = arena_->gate();
  wait();
  bool replays = has_guard() && gate.is_closed() && *gate.program() == id_;
  // The batch that closed the gate still lies in its slot.
  Slot& slot = replays ? slots_[size_t(*gate.run()) % slots_.size()] : prepare(inputs);
  gate.open(device_.stream());
  DeviceBlock flag(pool_, sizeof(int), "flags");
  for (size_t i = 0; i < parts_.first_update; ++i) {
    issue_one(slot, i, device_.stream());
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

// --- results ---

const void* CudaProgram::output_data(size_t index) const {
  if (index >= parts_.output_buffers.size())
    throw ValueError(fmt::format("output {} of a program with {} does not exist", index,
                                 parts_.output_buffers.size()));
  if (runs_ == 0) throw Error("a program has no outputs before its first run");
  return slots_[last_slot_].addresses[size_t(parts_.output_buffers[index])];
}

void CudaProgram::read_back(size_t index, void* to, size_t bytes) const {
  const void* data = output_data(index);
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, data, bytes, cudaMemcpyDeviceToHost, device_.stream()),
        "reading an output");
  wait_for_outputs();
}

Tensor CudaProgram::output(size_t index) const {
  output_data(index);
  const TensorSpec& spec = parts_.graph->spec(parts_.graph->outputs()[index].value);
  Tensor tensor(spec.dtype, spec.shape);
  read_back(index, tensor.raw_mut(), tensor.bytes());
  return tensor;
}

namespace {

template <class T>
T as(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

double as_double(const void* data, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return as<float>(data);
    case DType::float16:
      return float(as<Float16>(data));
    case DType::bfloat16:
      return float(as<BFloat16>(data));
    case DType::int8:
      return as<int8_t>(data);
    case DType::int16:
      return as<int16_t>(data);
    case DType::int32:
      return as<int32_t>(data);
    case DType::int64:
      return double(as<int64_t>(data));
    case DType::uint8:
      return as<uint8_t>(data);
    case DType::bool_:
      return as<uint8_t>(data) != 0;
    case DType::bytes:
      break;
  }
  throw ShapeError("a tensor of bytes holds no numbers");
}

}  // namespace

double CudaProgram::scalar(size_t index) const {
  output_data(index);
  const GraphOutput& output = parts_.graph->outputs()[index];
  const TensorSpec& spec = parts_.graph->spec(output.value);
  if (spec.shape.elements() != 1)
    throw ShapeError(
        fmt::format("output \"{}\" is {}, not a scalar", output.name, to_string(spec)));
  std::array<std::byte, 8> bytes{};
  read_back(index, bytes.data(), size_of(spec.dtype));
  return as_double(bytes.data(), spec.dtype);
}

// --- memory ---

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

namespace {

int64_t batch_size_of(const Graph& graph) {
  for (const GraphInput& input : graph.inputs())
    if (const Shape& shape = graph.spec(input.value).shape; shape.rank() > 0) return shape[0];
  return 0;
}

// Weights, gradients and moments are what they are; the rest grows with the batch.
bool grows_with_batch(MemoryCategory category) {
  return category == MemoryCategory::activations || category == MemoryCategory::workspace ||
         category == MemoryCategory::inputs;
}

}  // namespace

std::string describe_needs(const MemoryReport& memory) {
  std::string text = "this program needs ";
  for (int c = 0; c < kMemoryCategories; ++c)
    if (size_t bytes = memory.bytes[size_t(c)]; bytes > 0)
      text += fmt::format("{} {:.1f} MiB, ", name(MemoryCategory(c)), double(bytes) / (1 << 20));
  return text + fmt::format("in all {:.1f} MiB", double(memory.total) / (1 << 20));
}

std::string CudaProgram::advice(size_t available) const {
  std::string text = describe_needs(memory_);
  size_t fixed = 0, growing = 0;
  for (int c = 0; c < kMemoryCategories; ++c)
    (grows_with_batch(MemoryCategory(c)) ? growing : fixed) += memory_.bytes[size_t(c)];
  int64_t batch = batch_size_of(*parts_.graph);
  if (batch == 0 || growing == 0) return text;
  double room = double(available) - double(fixed);
  auto fits = int64_t(double(batch) * std::max(room, 0.0) / double(growing));
  if (fits >= batch) return text;
  return text + (fits > 0 ? fmt::format(" at batch size {}; {} would fit", batch, fits)
                          : fmt::format(" at batch size {}; not even one sample would fit", batch));
}

void CudaProgram::reserve_arena() {
  try {
    arena_->reserve(arena_bytes_);
  } catch (const OutOfMemoryError& error) {
    size_t others = pool_->in_use() - std::min(pool_->in_use(), memory_.total - arena_bytes_);
    size_t available = pool_->free_bytes() + pool_->in_use() - others;
    throw OutOfMemoryError(fmt::format("{}; {}", error.what(), advice(available)));
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
