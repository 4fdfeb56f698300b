#include "graph/replica.h"

#include <utility>
#include <vector>

#include "graph/emit.h"
#include "graph/graph.h"

namespace stoker {

Replica& replica_of(Graph& graph) {
  Graph* outermost = &graph;
  while (outermost->outer() != nullptr) outermost = outermost->outer();
  return outermost->notes<Replica>();
}

// The variables of a graph are fixed once it is built; which ones they are is not part of it.
void rebind_variable(Graph& graph, size_t index, const Variable& variable) {
  const GraphVariable& bound = graph.variables()[index];
  if (variable.spec() != bound.variable.spec())
    throw ShapeError("a variable was rebound to one of another spec");
  const_cast<GraphVariable&>(bound).variable = variable;
}

namespace {

Graph& graph_of_value(const Value& value) {
  if (value.traced() == nullptr)
    throw Error("a sum over replicas needs a value of the step that is being traced");
  return *value.traced()->graph;
}

// Zeros in its place, but a node all the same: every replica has the same sums, those of gradients
// included.
Value withheld(Graph& graph, const Value& value) {
  const TensorSpec& spec = value.spec();
  Value never = emit::broadcast_to(graph.number(Tensor::zeros({}, DType::bool_)), spec.shape);
  Value zeros = emit::broadcast_to(graph.number(Tensor::zeros({}, spec.dtype)), spec.shape);
  return emit::select(never, value, zeros);
}

Values all_reduce(Replica& replica, const Values& operands, const std::string& wire) {
  Attrs attrs = {{"ranks", replica.ranks}, {"wire", wire}, {"number", replica.next_sum++}};
  if (replica.group != nullptr) attrs.set("group", replica.group);
  return apply("all_reduce", operands, attrs);
}

}  // namespace

Values sum_over_replicas(Graph& graph, const Values& values, const std::string& wire) {
  Replica& replica = replica_of(graph);
  if (replica.alone() || values.empty()) return values;
  if (graph.outer() != nullptr)
    throw Error(
        "a sum over replicas stands inside a loop (ops::scan); take what needs it, such as a "
        "synchronised BatchNormalization, out of the loop");
  Values operands = values;
  if (replica.absent())
    for (Value& operand : operands) operand = withheld(graph, operand);
  return all_reduce(replica, operands, wire);
}

// Sums with one contribution each: −0 + x is x, for x = −0 and x = +0 too.
Values gather_over_replicas(Graph& graph, const Values& own, const std::vector<Variable>& like) {
  Replica& replica = replica_of(graph);
  Values all, bucket;
  int64_t bytes = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    const Shape& shape = like[i].shape();
    bucket.push_back(own[i].defined() ? own[i]
                                      : emit::broadcast_to(graph.number(Tensor(-0.0F)), shape));
    bytes += shape.elements() * int64_t(sizeof(float));
    if (bytes < replica.bucket_bytes && i + 1 < own.size()) continue;
    Values gathered = all_reduce(replica, bucket, "float32");
    all.insert(all.end(), gathered.begin(), gathered.end());
    bucket.clear();
    bytes = 0;
  }
  return all;
}

Value sum_over_replicas(const Value& value) {
  return sum_over_replicas(graph_of_value(value), {value})[0];
}

namespace {

struct PendingSums {
  std::vector<std::pair<Variable, Value>> list;
};

// The values of one kind, floats or integers, in one sum.
void assign_sums(Graph& graph, const PendingSums& pending, bool floating) {
  Values more;
  std::vector<Variable> variables;
  for (const auto& [variable, value] : pending.list)
    if (is_floating(value.dtype()) == floating) {
      variables.push_back(variable);
      more.push_back(value);
    }
  Values sums = sum_over_replicas(graph, more);
  for (size_t i = 0; i < sums.size(); ++i)
    graph.assign(variables[i], graph.read(variables[i]) + sums[i], Assign::always);
}

}  // namespace

void add_over_replicas(Graph& graph, const Variable& variable, const Value& more) {
  if (replica_of(graph).alone())
    return graph.assign(variable, graph.read(variable) + more, Assign::always);
  for (auto& [known, sum] : graph.notes<PendingSums>().list)
    if (known == variable) {
      sum = sum + more;
      return;
    }
  graph.notes<PendingSums>().list.emplace_back(variable, more);
}

void assign_pending_sums(Graph& graph) {
  PendingSums pending = std::exchange(graph.notes<PendingSums>(), {});
  if (pending.list.empty()) return;
  Graph::Scope scope(graph, "metrics");
  Graph::Scope phase(graph, Phase::update);
  assign_sums(graph, pending, true);
  assign_sums(graph, pending, false);
}

Value divisor_over_replicas(const Value& number) {
  if (number.traced() == nullptr) return number;
  const Replica& replica = replica_of(graph_of_value(number));
  if (replica.alone()) return number;
  double share = replica.absent() ? 1.0 : replica.share();
  return sum_over_replicas(number) * share;
}

Value sum_as_share(const Value& sum) {
  if (sum.traced() == nullptr) return sum;
  const Replica& replica = replica_of(*sum.traced()->graph);
  return replica.alone() || replica.absent() ? sum : sum * (1.0 / replica.share());
}

}  // namespace stoker
