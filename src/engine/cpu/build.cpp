// The part of the builder that the walk over the graph calls: who builds a node, and how variables
// get what they are assigned.
#include <algorithm>

#include <fmt/format.h>

#include "engine/cpu/builder.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/sixteen_bits.h"
#include "graph/passes/passes.h"

namespace stoker::cpu {

void Builder::analyse() {
  size_t values = graph().values().size();
  users_.resize(values);
  copies_.resize(values);
  alias_.assign(values, -1);
  into_.assign(graph().nodes().size(), -1);
  parts_.homes.resize(graph().variables().size());
  for (int position = int(schedule_.order.size()); position-- > 0;)
    for (int value : graph().nodes()[size_t(schedule_.order[size_t(position)])].inputs) {
      users_[size_t(value)].push_back(position);
      schedule_.use(value, position);
    }
  schedule_.extend_shared(graph());
}

// Results without elements need a place and no kernel: libraries divide by extents.
bool Builder::computes_nothing() {
  const std::vector<int>& outputs = node().outputs;
  auto is_empty = [&](int value) { return shape(value).elements() == 0; };
  if (outputs.empty() || !std::ranges::all_of(outputs, is_empty)) return false;
  for (int value : outputs)
    if (!is_defined(value)) define(value);
  return true;
}

void Builder::await(int value, std::function<void(Builder&)> build) {
  awaited_.emplace_back(value, std::move(build));
}

template <class Ready>
void Builder::build_awaited_if(const Ready& ready) {
  for (size_t i = 0; i < awaited_.size();) {
    if (!ready(awaited_[i].first)) {
      ++i;
      continue;
    }
    std::function<void(Builder&)> build = std::move(awaited_[i].second);
    awaited_.erase(awaited_.begin() + int64_t(i));
    build(*this);
  }
}

void Builder::build_awaited(int value) {
  build_awaited_if([&](int other) { return other == value; });
}

void Builder::build_node() {
  build_it();
  build_awaited_if([&](int value) { return is_defined(value); });
}

void Builder::build_it() {
  int index = node_index();
  if (into_[size_t(index)] >= 0) return;
  if (computes_nothing()) return;
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

bool Builder::lies_in_variable(int value) {
  return graph().values()[size_t(source_of(value))].kind == ValueKind::variable;
}

void Builder::write_assignments() {
  for (size_t i = 0; i < graph().assignments().size(); ++i) {
    const Assignment& assignment = graph().assignments()[i];
    int variable = graph().variables()[size_t(assignment.variable)].value;
    bool placed = !copies_[size_t(variable)].empty();
    Layout layout = staged(i) >= 0 ? Layout() : this->layout(assignment.value);
    int target =
        placed ? copies_[size_t(variable)].front().buffer : place_variable(variable, layout);
    const Layout& wanted = copies_[size_t(variable)].front().layout;
    if (staged(i) < 0 && copies_[size_t(assignment.value)].front().buffer == target) continue;
    size_t first = parts_.instructions.size();
    if (staged(i) >= 0 && !wanted.is_plain()) {
      emit_reorder(staged(i), wanted.row_major(), target, wanted.desc());
    } else {
      int source = staged(i) >= 0 ? staged(i) : input(assignment.value, wanted);
      emit_copy(source, target, wanted.bytes(spec(variable)));
    }
    for (size_t at = first; at < parts_.instructions.size(); ++at)
      parts_.instructions[at].always = assignment.when == Assign::always;
  }
}

void rewrite(Graph& graph, bool keep_order) {
  passes::compose_attention(graph, has_attention_kernel);
  widen(graph);
  if (keep_order) return;
  passes::merge_duplicates(graph);
  passes::fold_padding(graph);
  passes::fuse(graph);
}

ProgramParts Builder::build() {
  await_gradients(*this);
  walk();
  std::vector<Cost> found = costs(into_);
  for (size_t i = 0; i < found.size(); ++i) parts_.instructions[i].info.cost = found[i];
  return std::move(parts_);
}

}  // namespace stoker::cpu
