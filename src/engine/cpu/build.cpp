// The walk over the graph: nodes are built one after another, outputs are kept, and
// variables are written.
#include <algorithm>

#include <fmt/format.h>

#include "engine/cpu/builder.h"
#include "engine/cpu/ops/op_builders.h"

namespace stoker::cpu {

void Builder::analyse() {
  size_t values = graph().values().size();
  users_.resize(values);
  copies_.resize(values);
  alias_.assign(values, -1);
  into_.assign(graph().nodes().size(), -1);
  parts_.homes.resize(graph().variables().size());
  for (int position = int(schedule_.order.size()); position-- > 0;) {
    const Node& node = graph().nodes()[size_t(schedule_.order[size_t(position)])];
    for (int value : node.inputs) {
      users_[size_t(value)].push_back(position);
      schedule_.use(value, position);
      // Bytes are in use as long as any of their names is.
      if (node.traits().shares_bytes)
        schedule_.use(value, schedule_.last_use[size_t(node.outputs[0])]);
    }
  }
}

void Builder::build_node(int index) {
  node_ = index;
  if (into_[size_t(index)] >= 0) return;
  if (auto claimed = claims_.find(index); claimed != claims_.end()) return claimed->second(*this);
  if (std::ranges::all_of(node().outputs, [&](int value) { return is_defined(value); })) return;
  const OpBuilder* builder = find_op_builder(node().op->name);
  if (builder == nullptr)
    throw Error(fmt::format("the CPU engine has no kernel for \"{}\"", node().op->name));
  DType dtype =
      node().inputs.empty() ? spec(node().outputs[0]).dtype : spec(node().inputs[0]).dtype;
  if (!builder->takes(dtype))
    throw Error(fmt::format("the CPU engine has no kernel for \"{}\" of {} ({})", node().op->name,
                            name(dtype), node().scope));
  builder->build(*this, node());
}

// A row-major copy of a value that nothing overwrites before the next run.
int Builder::keep(int value) {
  int buffer = plain(value);
  BufferInfo& info = parts_.buffers[size_t(buffer)];
  if (info.kind == BufferKind::arena) {
    info.kind = BufferKind::output;
    return buffer;
  }
  if (info.kind == BufferKind::output) return buffer;
  int copy = new_buffer({BufferKind::output, info.bytes, MemoryCategory::activations, -1});
  emit_copy(buffer, copy, parts_.buffers[size_t(buffer)].bytes);
  return copy;
}

void Builder::finish_outputs() {
  node_ = -1;
  for (const GraphOutput& output : graph().outputs())
    parts_.output_buffers.push_back(keep(output.value));
  if (graph().guard() >= 0) parts_.guard_buffer = keep(graph().guard());
  if (graph().gate() >= 0) parts_.gate_buffer = keep(graph().gate());
  // A variable whose old contents are assigned to another one: taken aside before anything is
  // overwritten.
  for (const Assignment& assignment : graph().assignments()) {
    int source = source_of(assignment.value);
    bool from_variable = graph().values()[size_t(source)].kind == ValueKind::variable;
    staged_.push_back(from_variable ? keep(assignment.value) : -1);
  }
}

void Builder::finish_assignments() {
  node_ = -1;
  for (size_t i = 0; i < graph().assignments().size(); ++i) {
    const Assignment& assignment = graph().assignments()[i];
    int variable = graph().variables()[size_t(assignment.variable)].value;
    bool placed = !copies_[size_t(variable)].empty();
    Layout layout = staged_[i] >= 0 ? Layout() : this->layout(assignment.value);
    int target =
        placed ? copies_[size_t(variable)].front().buffer : place_variable(variable, layout);
    const Layout& wanted = copies_[size_t(variable)].front().layout;
    if (staged_[i] < 0 && copies_[size_t(assignment.value)].front().buffer == target) continue;
    size_t first = parts_.instructions.size();
    if (staged_[i] >= 0 && !wanted.is_plain()) {
      emit_reorder(staged_[i], wanted.row_major(), target, wanted.desc());
    } else {
      int source = staged_[i] >= 0 ? staged_[i] : input(assignment.value, wanted);
      emit_copy(source, target, wanted.bytes(spec(variable)));
    }
    for (size_t at = first; at < parts_.instructions.size(); ++at)
      parts_.instructions[at].always = assignment.when == Assign::always;
  }
}

ProgramParts Builder::build() {
  for (position_ = 0; position_ < int(schedule_.order.size()); ++position_) {
    if (size_t(position_) == schedule_.first_update) {
      finish_outputs();
      parts_.first_update = parts_.instructions.size();
    }
    build_node(schedule_.order[size_t(position_)]);
  }
  if (schedule_.first_update == schedule_.order.size()) {
    finish_outputs();
    parts_.first_update = parts_.instructions.size();
  }
  finish_assignments();
  // A variable that is only written, or not used at all, still needs its place.
  for (const GraphVariable& variable : graph().variables())
    if (copies_[size_t(variable.value)].empty()) place_variable(variable.value, {});
  count_costs();
  return std::move(parts_);
}

}  // namespace stoker::cpu
