#include "engine/cpu/program.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "engine/collective.h"
#include "engine/cpu/team.h"
#include "engine/out_of_memory.h"

namespace stoker::cpu {

CpuProgram::CpuProgram(ProgramParts parts, std::shared_ptr<SharedArena> arena, int threads,
                       size_t memory_limit)
    : PlannedProgram(*parts.graph),
      parts_(std::move(parts)),
      arena_(std::move(arena)),
      threads_(threads) {
  size_t buffers = parts_.buffers.size();
  own_.resize(buffers);
  input_buffers_.assign(parts_.graph->inputs().size(), -1);
  plan(parts_.instructions, parts_.buffers);
  check_host_memory(memory(), *parts_.graph, memory_limit,
                    arena_bytes() - std::min(arena_bytes(), arena_->bytes()), "cpu");
  fill_own();
  arena_->reserve(arena_bytes());
  for (const GraphVariable& variable : parts_.graph->variables())
    variables_.push_back(variable.variable);
  for (size_t i = 0; i < variables_.size(); ++i) take(variables_[i], parts_.homes[i]);
}

// --- addresses ---

void CpuProgram::bind_all() {
  arena_->reserve(arena_bytes());
  generation_ = arena_->generation();
  for (size_t i = 0; i < parts_.buffers.size(); ++i) {
    const BufferInfo& info = parts_.buffers[i];
    if (is_planned(info.kind))
      bind(int(i), arena_->at(offset_of(i)));
    else if (info.kind == BufferKind::variable)
      bind(int(i), parts_.homes[size_t(info.index)]->data());
    else if (is_own(info.kind))
      bind(int(i), own_[i].data());
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

TeamChooser CpuProgram::chooser() const {
  double flops = 0, bytes = 0;
  for (const Instruction& instruction : parts_.instructions) {
    flops += instruction.info.cost.flops;
    bytes += instruction.info.cost.bytes;
  }
  return chooser_for(flops, bytes);
}

bool CpuProgram::is_finite(int buffer) const {
  return buffer < 0 || std::isfinite(*static_cast<const float*>(bound_.at(buffer)));
}

int CpuProgram::watched_variable() const {
  for (int variable : parts_.watched)
    if (!parts_.homes[size_t(variable)]->came_finite()) return variable;
  return -1;
}

RunStatus CpuProgram::run(std::span<const Tensor> inputs) {
  prepare(inputs);
  TeamScope team(threads_);
  StepScope step(team_use_, step_began_, threads_);
  has_run_ = true;
  for (size_t i = 0; i < parts_.first_update; ++i) run_instruction(i);
  if (!guard_is_finite()) return RunStatus::skipped_non_finite;
  bool open = is_finite(parts_.gate_buffer);
  for (size_t i = parts_.first_update; i < parts_.instructions.size(); ++i)
    if (open || parts_.instructions[i].always) run_instruction(i);
  count_changes(*parts_.graph, parts_.homes);
  return RunStatus::ok;
}

RunStatus CpuProgram::run_timed(std::span<const Tensor> inputs, std::vector<int64_t>& nanoseconds) {
  using Clock = std::chrono::steady_clock;
  prepare(inputs);
  TeamScope team(threads_);
  AloneScope alone(team_use_.use() == TeamUse::alone);
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
  count_changes(*parts_.graph, parts_.homes);
  return guard_is_finite() ? RunStatus::ok : RunStatus::skipped_non_finite;
}

std::optional<NonFinite> CpuProgram::non_finite_output(const Instruction& instruction) const {
  for (auto [value, buffer] : instruction.results) {
    if (value < 0 || parts_.graph->spec(value).dtype != DType::float32) continue;
    const Node* node = parts_.graph->producer(value);
    const float* data = static_cast<const float*>(bound_.at(buffer));
    size_t elements = parts_.buffers[size_t(buffer)].bytes / sizeof(float);
    for (size_t i = 0; node != nullptr && i < elements; ++i)
      if (!std::isfinite(data[i]))
        return NonFinite{node->op->name, node->scope, parts_.graph->spec(value)};
  }
  return std::nullopt;
}

std::optional<NonFinite> CpuProgram::find_non_finite(std::span<const Tensor> inputs) {
  prepare(inputs);
  TeamScope team(threads_);
  AloneReplica alone(*parts_.graph);
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

// --- memory ---

void CpuProgram::read_output(size_t index, void* to, size_t bytes) const {
  if (bytes > 0)
    std::memcpy(to, bound_.at(parts_.output_buffers[index]), bytes);  // else maybe null
}

void CpuProgram::fill_own() {
  for (size_t i = 0; i < parts_.buffers.size(); ++i) {
    const BufferInfo& info = parts_.buffers[i];
    if (is_own(info.kind)) own_[i] = AlignedBlock(info.bytes);
    if (info.kind == BufferKind::input) input_buffers_[size_t(info.index)] = int(i);
    if (info.kind != BufferKind::constant || info.bytes == 0) continue;
    const Tensor& tensor = parts_.graph->constants()[size_t(info.index)].tensor;
    std::memcpy(own_[i].data(), tensor.raw(), tensor.bytes());
  }
}

}  // namespace stoker::cpu
