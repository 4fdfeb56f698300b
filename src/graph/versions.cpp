// Variables in program order: every update makes a version, and a read takes the version of its
// place in the program. A version that is read is a value of its own, the result of an identity, at
// which gradients end: what a program computed and then assigned keeps its gradient.
#include <algorithm>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/placement.h"
#include "graph/substitution.h"

namespace stoker {

void Graph::assign(const Variable& variable, const Value& value, Assign when) {
  if (outer_ != nullptr)
    throw Error(fmt::format(
        "variable \"{}\" cannot be assigned inside a loop (ops::scan); make it a part of "
        "the carry, and assign the result of the loop",
        variable.name()));
  if (notes<Substitutes>().contains(variable.id()))
    throw Error(fmt::format(
        "variable \"{}\" cannot be assigned while another value stands for it (with_values); leave "
        "it out of the variables, or assign it afterwards",
        variable.name()));
  int to = own(this->variable(variable), "assign");
  int from = own(value, "assign");
  if (spec(from) != spec(to))
    throw ShapeError(fmt::format("variable \"{}\" holds {}, cannot be assigned {}", variable.name(),
                                 to_string(spec(to)), to_string(spec(from))));
  int index = values_[size_t(to)].source;
  versions_[size_t(index)].push_back({.updates = ++updates_, .value = from, .when = when});
  int& known = assignment_of_[size_t(index)];
  if (known < 0) {
    known = int(assignments_.size());
    assignments_.push_back({index, from, when});
  }
  assignments_[size_t(known)] = {index, from, when};
  settle(index);
}

Value Graph::read(const Variable& variable, size_t updates) {
  // A Value that was taken in this graph before a substitution knows its version.
  const auto& substitutes = notes<Substitutes>();
  auto found = substitutes.find(variable.id());
  if (found != substitutes.end() && updates == SIZE_MAX) return found->second;
  if (outer_ != nullptr) return capture(outer_->read(variable));
  int id = own(this->variable(variable), "read");
  int index = values_[size_t(id)].source;
  const std::vector<Version>& versions = versions_[size_t(index)];
  auto later =
      std::ranges::find_if(versions, [&](const Version& v) { return v.updates > updates; });
  return value(read_version(index, size_t(later - versions.begin())));
}

std::vector<int> Graph::reads_of(const Variable& variable) const {
  auto known = variable_values_.find(variable.id());
  if (known == variable_values_.end()) return {};
  std::vector<int> reads = {known->second};
  for (const Version& version : versions_[size_t(values_[size_t(known->second)].source)])
    reads.insert(reads.end(), version.reads.begin(), version.reads.end());
  return reads;
}

// The value that stands for a variable after the first `version` of its updates.
int Graph::read_version(int variable, size_t version) {
  if (version == 0) return variables_[size_t(variable)].value;
  const Version& known = versions_[size_t(variable)][version - 1];
  if (!known.reads.empty() && known.gate == gate_) return known.reads.back();
  int id = apply1("identity", {gated(variable, version)}).traced()->id;
  Version& made = versions_[size_t(variable)][version - 1];
  made.reads.push_back(id);
  made.gate = gate_;
  read_values_.insert(id);
  return id;
}

// A version as it will be once the gate is known: in a step that is skipped, what was before it.
Value Graph::gated(int variable, size_t version) {
  const Version& known = versions_[size_t(variable)][version - 1];
  Value updated = value(known.value);
  if (known.when == Assign::always || gate_ < 0) return updated;
  return emit::select(emit::is_finite(value(gate_)), updated,
                      value(read_version(variable, version - 1)));
}

// An engine that skips a step leaves a variable as it was before all updates. Where one of them is
// made always, the last one is written with what the gate makes of it.
void Graph::settle(int variable) {
  std::vector<Version>& versions = versions_[size_t(variable)];
  if (gate_ < 0 || versions.size() < 2 || versions.back().when == Assign::always) return;
  if (std::ranges::none_of(versions, [](const Version& v) { return v.when == Assign::always; }))
    return;
  int settled = gated(variable, versions.size()).traced()->id;
  versions.back().value = settled;
  versions.back().when = Assign::always;
  assignments_[size_t(assignment_of_[size_t(variable)])] = {variable, settled, Assign::always};
}

// --- Variable's side
// -------------------------------------------------------------------------------

namespace {

Graph& graph_for_update(const Variable& variable, const Value& value) {
  Graph* graph = value.traced() != nullptr ? value.traced()->graph : Graph::current();
  if (graph != nullptr) return *graph;
  throw Error(fmt::format(
      "variable \"{}\": assign() is part of a step and belongs inside function() or Layer::call; "
      "write() sets the contents at once",
      variable.name()));
}

// A number fills the variable; everything else must fit.
Value contents_of(Graph& graph, const Variable& variable, const Value& value) {
  if (const double* number = value.scalar())
    return emit::broadcast_to(graph.number(Tensor::full({}, *number, variable.dtype())),
                              variable.shape());
  return place(graph, value);
}

}  // namespace

void Variable::assign(const Value& value) const {
  Graph& graph = graph_for_update(*this, value);
  Graph::Scope phase(graph, Phase::update);
  graph.assign(*this, contents_of(graph, *this, value), Assign::always);
}

void Variable::assign_add(const Value& value) const {
  Graph& graph = graph_for_update(*this, value);
  Graph::Scope phase(graph, Phase::update);
  graph.assign(*this, Value(*this) + value, Assign::always);
}

}  // namespace stoker
