#include "distribute/mirrors.h"

#include <fmt/format.h>

#include "engine/variable_homes.h"
#include "graph/replica.h"

namespace stoker::distribute {

Mirrors::Copies& Mirrors::copies_of(const Variable& variable) {
  auto [found, added] = copies_.try_emplace(variable.id());
  Copies& copies = found->second;
  if (!added) return copies;
  copies.of = variable;
  Tensor contents = variable.read();
  for (int replica = 1; replica < replicas_; ++replica)
    copies.list.emplace_back(
        fmt::format("{}/replica_{}", variable.name(), replica), contents.clone(),
        Variable::Options{.trainable = variable.trainable(), .category = variable.category()});
  return copies;
}

std::vector<Variable> Mirrors::bind(Graph& graph, int replica,
                                    const std::function<bool(const Variable&)>& is_single) {
  std::vector<Variable> used;
  for (size_t i = 0; i < graph.variables().size(); ++i) {
    Variable variable = graph.variables()[i].variable;
    if (is_single(variable)) continue;
    used.push_back(variable);
    const Copies& copies = copies_of(variable);
    if (replica > 0) rebind_variable(graph, i, copies.list[size_t(replica - 1)]);
  }
  return used;
}

Mirrors::State Mirrors::state_of(const Variable& variable) {
  const auto* counted = dynamic_cast<const CountedResidence*>(variable.residence().get());
  return counted != nullptr ? State{counted, counted->changes()} : State{};
}

void Mirrors::refresh(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    Copies& copies = copies_of(variable);
    State now = state_of(variable);
    if (now.at != nullptr && now == copies.alike) continue;
    copies.alike = now;
    if (copies.list.empty()) continue;
    Tensor contents = variable.read();
    for (Variable& copy : copies.list) copy.write(contents);
  }
}

void Mirrors::ran(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) copies_of(variable).alike = state_of(variable);
}

}  // namespace stoker::distribute
