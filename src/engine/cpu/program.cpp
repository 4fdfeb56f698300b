#include "engine/cpu/program.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "engine/cpu/crowding.h"
#include "engine/cpu/team.h"
#include "engine/out_of_memory.h"

namespace stoker::cpu {

CpuProgram::CpuProgram(ProgramParts parts, std::shared_ptr<SharedArena> arena, int threads,
                       size_t memory_limit)
    : parts_(std::move(parts)), arena_(std::move(arena)), threads_(threads) {
  size_t buffers = parts_.buffers.size();
  own_.resize(buffers);
  addresses_.assign(buffers, nullptr);
  pointers_of_.resize(buffers);
  memories_of_.resize(buffers);
  input_buffers_.assign(parts_.graph->inputs().size(), -1);
  for (const Instruction& instruction : parts_.instructions) {
    first_pointer_.push_back(pointers_.size());
    kernels_.push_back(instruction.info);
    for (const Operand& operand : instruction.operands) {
      pointers_of_[size_t(operand.buffer)].push_back(pointers_.size());
      pointers_.push_back(nullptr);
    }
  }
  for (size_t i = 0; i < parts_.memories.size(); ++i)
    memories_of_[size_t(parts_.memories[i].buffer)].push_back(i);
  plan(memory_limit);
  for (const GraphVariable& variable : parts_.graph->variables())
    variables_.push_back(variable.variable);
  for (size_t i = 0; i < variables_.size(); ++i) take(variables_[i], parts_.homes[i]);
}

// --- addresses ---

void CpuProgram::bind(int buffer, void* data) {
  if (addresses_[size_t(buffer)] == data) return;
  addresses_[size_t(buffer)] = data;
  for (size_t place : pointers_of_[size_t(buffer)]) pointers_[place] = data;
  for (size_t i : memories_of_[size_t(buffer)]) parts_.memories[i].memory.set_data_handle(data);
}

void CpuProgram::bind_all() {
  arena_->reserve(arena_bytes_);
  generation_ = arena_->generation();
  for (size_t i = 0; i < parts_.buffers.size(); ++i) {
    const BufferInfo& info = parts_.buffers[i];
    switch (info.kind) {
      case BufferKind::arena:
        bind(int(i), static_cast<char*>(arena_->data()) + offsets_[i]);
        break;
      case BufferKind::output:
      case BufferKind::constant:
        bind(int(i), own_[i].data());
        break;
      case BufferKind::variable:
        bind(int(i), parts_.homes[size_t(info.index)]->data());
        break;
      case BufferKind::input:
        break;
    }
  }
}

void CpuProgram::prepare(std::span<const Tensor> inputs) {
  check_inputs(*parts_.graph, inputs);
  for (size_t i = 0; i < variables_.size(); ++i) take(variables_[i], parts_.homes[i]);
  if (generation_ != arena_->generation()) bind_all();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (input_buffers_[i] >= 0) bind(input_buffers_[i], const_cast<void*>(inputs[i].raw()));
}

// --- running ---

bool CpuProgram::is_finite(int buffer) const {
  return buffer < 0 || std::isfinite(*static_cast<const float*>(addresses_[size_t(buffer)]));
}

int CpuProgram::watched_variable() const {
  for (int variable : parts_.watched)
    if (!parts_.homes[size_t(variable)]->came_finite()) return variable;
  return -1;
}

RunStatus CpuProgram::run(std::span<const Tensor> inputs) {
  prepare(inputs);
  TeamScope team(threads_);
  make_room(threads_);
  has_run_ = true;
  for (size_t i = 0; i < parts_.first_update; ++i) run_instruction(i);
  if (!guard_is_finite()) return RunStatus::skipped_non_finite;
  bool open = is_finite(parts_.gate_buffer);
  for (size_t i = parts_.first_update; i < parts_.instructions.size(); ++i)
    if (open || parts_.instructions[i].always) run_instruction(i);
  return RunStatus::ok;
}

RunStatus CpuProgram::run_timed(std::span<const Tensor> inputs, std::vector<int64_t>& nanoseconds) {
  using Clock = std::chrono::steady_clock;
  prepare(inputs);
  TeamScope team(threads_);
  has_run_ = true;
  nanoseconds.assign(parts_.instructions.size(), 0);
  bool open = true;
  Clock::time_point before = Clock::now();
  for (size_t i = 0; i < parts_.instructions.size(); ++i) {
    if (i == parts_.first_update) {
      if (!guard_is_finite()) return RunStatus::skipped_non_finite;
      open = is_finite(parts_.gate_buffer);
    }
    if (open || parts_.instructions[i].always) run_instruction(i);
    Clock::time_point now = Clock::now();
    nanoseconds[i] = std::chrono::nanoseconds(now - before).count();
    before = now;
  }
  return guard_is_finite() ? RunStatus::ok : RunStatus::skipped_non_finite;
}

std::optional<NonFinite> CpuProgram::non_finite_output(const Instruction& instruction) const {
  for (const Operand& operand : instruction.operands) {
    if (operand.value < 0 || parts_.graph->spec(operand.value).dtype != DType::float32) continue;
    const Node* node = parts_.graph->producer(operand.value);
    const float* data = static_cast<const float*>(addresses_[size_t(operand.buffer)]);
    size_t elements = parts_.buffers[size_t(operand.buffer)].bytes / sizeof(float);
    for (size_t i = 0; node != nullptr && i < elements; ++i)
      if (!std::isfinite(data[i]))
        return NonFinite{node->op->name, node->scope, parts_.graph->spec(operand.value)};
  }
  return std::nullopt;
}

std::optional<NonFinite> CpuProgram::find_non_finite(std::span<const Tensor> inputs) {
  prepare(inputs);
  TeamScope team(threads_);
  has_run_ = true;
  if (int variable = watched_variable(); variable >= 0)
    return NonFinite{"variable", variables_[size_t(variable)].name(),
                     variables_[size_t(variable)].spec()};
  for (size_t i = 0; i < parts_.first_update; ++i) {
    run_instruction(i);
    if (auto found = non_finite_output(parts_.instructions[i])) return found;
  }
  return std::nullopt;
}

// --- results ---

const void* CpuProgram::output_data(size_t index) const {
  if (index >= parts_.output_buffers.size())
    throw ValueError(fmt::format("output {} of a program with {} does not exist", index,
                                 parts_.output_buffers.size()));
  if (!has_run_) throw Error("a program has no outputs before its first run");
  return addresses_[size_t(parts_.output_buffers[index])];
}

Tensor CpuProgram::output(size_t index) const {
  const void* data = output_data(index);
  const TensorSpec& spec = parts_.graph->spec(parts_.graph->outputs()[index].value);
  Tensor tensor(spec.dtype, spec.shape);
  std::memcpy(tensor.raw_mut(), data, tensor.bytes());
  return tensor;
}

namespace {

double as_double(const void* data, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return *static_cast<const float*>(data);
    case DType::float16:
      return float(*static_cast<const Float16*>(data));
    case DType::bfloat16:
      return float(*static_cast<const BFloat16*>(data));
    case DType::int8:
      return *static_cast<const int8_t*>(data);
    case DType::int16:
      return *static_cast<const int16_t*>(data);
    case DType::int32:
      return *static_cast<const int32_t*>(data);
    case DType::int64:
      return double(*static_cast<const int64_t*>(data));
    case DType::uint8:
      return *static_cast<const uint8_t*>(data);
    case DType::bool_:
      return *static_cast<const bool*>(data);
    case DType::bytes:
      break;
  }
  throw ShapeError("a tensor of bytes holds no numbers");
}

}  // namespace

double CpuProgram::scalar(size_t index) const {
  const void* data = output_data(index);
  const GraphOutput& output = parts_.graph->outputs()[index];
  const TensorSpec& spec = parts_.graph->spec(output.value);
  if (spec.shape.elements() != 1)
    throw ShapeError(
        fmt::format("output \"{}\" is {}, not a scalar", output.name, to_string(spec)));
  return as_double(data, spec.dtype);
}

// --- memory ---

void CpuProgram::plan(size_t memory_limit) {
  std::vector<Buffer> planned;
  std::vector<size_t> which;
  std::vector<std::pair<int, int>> life(parts_.buffers.size(), {-1, -1});
  for (size_t i = 0; i < parts_.instructions.size(); ++i)
    for (const Operand& operand : parts_.instructions[i].operands) {
      auto& [begin, end] = life[size_t(operand.buffer)];
      if (begin < 0) begin = int(i);
      end = int(i);
    }
  for (size_t i = 0; i < parts_.buffers.size(); ++i) {
    const BufferInfo& info = parts_.buffers[i];
    if (info.kind == BufferKind::output || info.kind == BufferKind::constant)
      own_[i] = AlignedBlock(info.bytes);
    if (info.kind == BufferKind::constant) {
      const Tensor& tensor = parts_.graph->constants()[size_t(info.index)].tensor;
      if (tensor.bytes() > 0) std::memcpy(own_[i].data(), tensor.raw(), tensor.bytes());
    }
    if (info.kind == BufferKind::input) input_buffers_[size_t(info.index)] = int(i);
    if (info.kind != BufferKind::arena || life[i].first < 0) continue;
    planned.push_back({info.bytes, life[i].first, life[i].second, info.category});
    which.push_back(i);
  }
  attribute_memory(life);
  MemoryPlan plan = plan_memory(planned);
  offsets_.assign(parts_.buffers.size(), 0);
  for (size_t i = 0; i < which.size(); ++i) offsets_[which[i]] = plan.offsets[i];
  arena_bytes_ = plan.peak;
  report(plan);
  check_host_memory(memory_, *parts_.graph, memory_limit,
                    arena_bytes_ - std::min(arena_bytes_, arena_->bytes()), "cpu");
  arena_->reserve(arena_bytes_);
}

// Outputs stay until the next run.
void CpuProgram::attribute_memory(std::span<const std::pair<int, int>> life) {
  std::vector<Buffer> held;
  for (size_t i = 0; i < parts_.buffers.size(); ++i) {
    const BufferInfo& info = parts_.buffers[i];
    bool output = info.kind == BufferKind::output;
    if ((!output && info.kind != BufferKind::arena) || life[i].first < 0) continue;
    int end = output ? int(kernels_.size()) - 1 : life[i].second;
    held.push_back({info.bytes, life[i].first, end, info.category});
  }
  std::vector<StepMemory> memory = memory_of_steps(held, kernels_.size());
  for (size_t i = 0; i < kernels_.size(); ++i) {
    kernels_[i].memory = memory[i].begun;
    kernels_[i].live = memory[i].live;
  }
}

void CpuProgram::report(const MemoryPlan& plan) {
  memory_.arena = plan.peak;
  size_t live = 0;
  for (int c = 0; c < kMemoryCategories; ++c) {
    memory_.bytes[size_t(c)] = plan.at_peak[size_t(c)];
    live += plan.at_peak[size_t(c)];
  }
  // Gaps between buffers belong to nobody; they are counted as workspace, so that the sum is what
  // is held.
  memory_.bytes[size_t(MemoryCategory::workspace)] += plan.peak - live;
  memory_.total = plan.peak;
  auto add = [&](MemoryCategory category, size_t bytes) {
    memory_.bytes[size_t(category)] += bytes;
    memory_.total += bytes;
  };
  for (size_t i = 0; i < parts_.buffers.size(); ++i)
    if (own_[i].bytes() > 0) add(MemoryCategory::activations, own_[i].bytes());
  for (size_t i = 0; i < parts_.homes.size(); ++i)
    add(parts_.graph->variables()[i].variable.category(), parts_.homes[i]->bytes());
}

}  // namespace stoker::cpu
