// The walk over the graph: in which order nodes are built, what outlives the step, and how
// variables are written.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/cpu/builder.h"
#include "engine/cpu/op_builders.h"

namespace stoker::cpu {

namespace {

// These overwrite variables in place, so they must wait until the guard is known.
bool writes_variables(const Node& node) {
  constexpr std::array kOps = {"sgd_update", "adam_update", "rmsprop_update", "moving_average"};
  return std::ranges::find(kOps, node.op->name) != kOps.end();
}

bool shares_bytes(const Node& node) {
  return node.op->name == "reshape" || node.op->name == "identity";
}

}  // namespace

void Builder::analyse() {
  size_t values = graph().values().size();
  users_.resize(values);
  last_use_.assign(values, -1);
  assigned_to_.assign(values, -1);
  copies_.resize(values);
  alias_.assign(values, -1);
  parts_.homes.resize(graph().variables().size());

  std::vector<bool> read(values);  // by a node, an output, the guard or the gate
  for (const Node& node : graph().nodes())
    for (int value : node.inputs) read[size_t(value)] = true;
  for (const GraphOutput& output : graph().outputs()) read[size_t(output.value)] = true;
  for (int value : {graph().guard(), graph().gate()})
    if (value >= 0) read[size_t(value)] = true;

  // Updates whose results are only assigned go last; nothing depends on them.
  std::vector<int> updates;
  for (int i = 0; i < int(graph().nodes().size()); ++i) {
    const Node& node = graph().nodes()[size_t(i)];
    bool last = writes_variables(node) && std::ranges::none_of(node.outputs, [&](int value) {
                  return bool(read[size_t(value)]);
                });
    (last ? updates : order_).push_back(i);
  }
  first_update_ = order_.size();
  order_.insert(order_.end(), updates.begin(), updates.end());

  for (const GraphOutput& output : graph().outputs()) last_use_[size_t(output.value)] = kForEver;
  for (int value : {graph().guard(), graph().gate()})
    if (value >= 0) last_use_[size_t(value)] = kForEver;
  for (const Assignment& assignment : graph().assignments()) {
    assigned_to_[size_t(assignment.value)] = assignment.variable;
    last_use_[size_t(assignment.value)] = kForEver;
  }
  for (int position = int(order_.size()); position-- > 0;) {
    const Node& node = graph().nodes()[size_t(order_[size_t(position)])];
    for (int value : node.inputs) {
      users_[size_t(value)].push_back(position);
      last_use_[size_t(value)] = std::max(last_use_[size_t(value)], position);
      // Bytes are in use as long as any of their names is.
      if (shares_bytes(node))
        last_use_[size_t(value)] =
            std::max(last_use_[size_t(value)], last_use_[size_t(node.outputs[0])]);
    }
  }
}

void Builder::build_node(int index) {
  node_ = index;
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
  for (position_ = 0; position_ < int(order_.size()); ++position_) {
    if (size_t(position_) == first_update_) {
      finish_outputs();
      parts_.first_update = parts_.instructions.size();
    }
    build_node(order_[size_t(position_)]);
  }
  if (first_update_ == order_.size()) {
    finish_outputs();
    parts_.first_update = parts_.instructions.size();
  }
  finish_assignments();
  // A variable that is only written, or not used at all, still needs its place.
  for (const GraphVariable& variable : graph().variables())
    if (copies_[size_t(variable.value)].empty()) place_variable(variable.value, {});
  return std::move(parts_);
}

}  // namespace stoker::cpu
