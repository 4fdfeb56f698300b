#include "engine/plan_builder.h"

#include <algorithm>

namespace stoker {

PlanBuilder::PlanBuilder(const Graph& graph, OwnBytes own_bytes)
    : schedule_(graph),
      graph_(graph),
      own_bytes_(own_bytes),
      categories_(memory_categories(graph)) {}

// --- buffers ---

int PlanBuilder::new_buffer(BufferInfo info) {
  parts().buffers.push_back(info);
  buffer_last_.push_back(-1);
  buffer_value_.push_back(-1);
  return int(parts().buffers.size()) - 1;
}

int PlanBuilder::new_leaf_buffer(const ValueInfo& info, size_t bytes) {
  switch (info.kind) {
    case ValueKind::variable:
      return new_buffer({BufferKind::variable, bytes,
                         graph_.variables()[size_t(info.source)].variable.category(), info.source});
    case ValueKind::constant:
      return new_buffer({BufferKind::constant, bytes, MemoryCategory::workspace, info.source});
    case ValueKind::input:
      return new_buffer({BufferKind::input, bytes, MemoryCategory::inputs, info.source});
    case ValueKind::computed:
      break;
  }
  throw Error("an engine met a value before its producer");
}

void PlanBuilder::hold(int value, int buffer) {
  buffer_value_[size_t(buffer)] = value;
  buffer_last_[size_t(buffer)] =
      std::max(buffer_last_[size_t(buffer)], schedule_.last_use[size_t(value)]);
  // What is written over an activation may be a gradient, which stays longer.
  BufferInfo& info = this->buffer(buffer);
  if (info.kind == BufferKind::arena && categories_[size_t(value)] == MemoryCategory::gradients)
    info.category = MemoryCategory::gradients;
}

int PlanBuilder::new_result(int value, size_t bytes) {
  int made = new_buffer({BufferKind::arena, bytes, categories_[size_t(value)], -1});
  hold(value, made);
  return made;
}

int PlanBuilder::scratch(size_t bytes) {
  return new_buffer({BufferKind::arena, bytes, MemoryCategory::workspace, -1});
}

int PlanBuilder::kept(size_t bytes) {
  return new_buffer({BufferKind::arena, bytes, MemoryCategory::activations, -1});
}

int PlanBuilder::bucket(size_t bytes) {
  return new_buffer({BufferKind::arena, bytes, MemoryCategory::gradients, -1});
}

int PlanBuilder::part_of(int whole, size_t offset, size_t bytes) {
  return new_buffer({BufferKind::part, bytes, buffer(whole).category, whole, offset});
}

int PlanBuilder::reusable(size_t bytes, std::initializer_list<int> buffers) {
  for (int each : buffers)
    if (each >= 0 && buffer(each).bytes == bytes && is_planned(buffer(each).kind) &&
        buffer_last_[size_t(each)] <= position_)
      return each;
  return -1;
}

bool PlanBuilder::overwrites_variable(int output, int input) const {
  const ValueInfo& info = graph_.values()[size_t(input)];
  return in_updates_ && info.kind == ValueKind::variable &&
         info.source == schedule_.assigned_to[size_t(output)] &&
         schedule_.last_use[size_t(input)] <= position_;
}

// --- work under way ---

bool PlanBuilder::finish(int value) {
  const Node* producer = graph_.producer(value);
  if (producer == nullptr) return false;
  auto work = under_way_.extract(index_of(*producer));
  if (work.empty()) return false;
  work.mapped()();
  return true;
}

void PlanBuilder::finish_all() {
  while (!under_way_.empty()) under_way_.extract(under_way_.begin()).mapped()();
}

// --- instructions ---

// Bytes of these buffers, each once.
double PlanBuilder::touched(std::vector<int> buffers) {
  std::ranges::sort(buffers);
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  double bytes = 0;
  for (int each : buffers) bytes += double(buffer(each).bytes);
  return bytes;
}

Instruction PlanBuilder::describe(InstructionCall call) {
  Instruction instruction;
  instruction.reads = call.reads.size();
  instruction.operands = std::move(call.reads);
  KernelWork work{.node = call.node >= 0 ? call.node : node_};
  for (int each : call.writes) {
    int value = value_in(each);
    instruction.operands.push_back(each);
    instruction.results.emplace_back(value, each);
    if (value >= 0) work.results.push_back(value);
  }
  work.is_node = work.node >= 0 && call.op.empty();
  if (work.is_node || own_bytes_ == OwnBytes::counted)
    work.bytes = call.bytes >= 0 ? call.bytes : touched(instruction.operands);
  instruction.info.kernel = std::move(call.kernel);
  if (work.node >= 0) {
    const Node& worked = graph_.nodes()[size_t(work.node)];
    instruction.info.scope = worked.scope;
    instruction.info.phase = worked.phase;
    if (work.is_node) instruction.info.op = worked.op->name;
  }
  if (!call.op.empty()) instruction.info.op = std::move(call.op);
  work_.push_back(std::move(work));
  return instruction;
}

// --- the walk ---

// A row-major copy of a value that nothing overwrites before the next run.
int PlanBuilder::keep(int value) {
  int at = row_major(value);
  BufferKind kind = buffer(at).kind;
  if (kind == BufferKind::arena) buffer(at).kind = BufferKind::output;
  if (kind == BufferKind::arena || kind == BufferKind::output || kind == BufferKind::fixed)
    return at;
  size_t bytes = buffer(at).bytes;
  int copy = new_buffer({BufferKind::output, bytes, MemoryCategory::activations, -1});
  emit_copy(at, copy, bytes);
  return copy;
}

void PlanBuilder::finish_outputs() {
  node_ = -1;
  finish_all();
  for (const GraphOutput& output : graph_.outputs())
    parts().output_buffers.push_back(keep(output.value));
  if (graph_.guard() >= 0) parts().guard_buffer = keep(graph_.guard());
  if (graph_.gate() >= 0) parts().gate_buffer = keep(graph_.gate());
  // A variable whose old contents are assigned to another one: taken aside before anything is
  // overwritten.
  for (const Assignment& assignment : graph_.assignments())
    staged_.push_back(lies_in_variable(assignment.value) ? keep(assignment.value) : -1);
  in_updates_ = true;
  parts().first_update = instructions();
}

void PlanBuilder::walk() {
  for (position_ = 0; position_ < int(schedule_.order.size()); ++position_) {
    if (size_t(position_) == schedule_.first_update) finish_outputs();
    node_ = schedule_.order[size_t(position_)];
    build_node();
  }
  if (schedule_.first_update == schedule_.order.size()) finish_outputs();
  node_ = -1;
  write_assignments();
  // A variable that is only written, or not used at all, still needs its place.
  for (const GraphVariable& variable : graph_.variables())
    if (!is_defined(variable.value)) place_variable(variable.value);
}

}  // namespace stoker
