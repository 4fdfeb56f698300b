#include "train/step/replica_sums.h"

#include <algorithm>
#include <numeric>

#include <stoker/ops.h>

#include "train/step/trained_masks.h"

namespace stoker {

namespace {

int made_at(const Graph& graph, const Value& value) {
  const Node* producer = graph.producer(value.traced()->id);
  return producer != nullptr ? int(producer - graph.nodes().data()) : -1;
}

int64_t bytes_of_sum(const Value& value) {
  return value.shape().elements() * int64_t(sizeof(float));
}

// Narrower where the wire is; the sum comes back in the same dtype.
Value on_the_wire(const Value& gradient, const Replica& replica) {
  bool narrows = replica.wire == "bfloat16" && gradient.dtype() == DType::float32;
  return narrows ? ops::cast(gradient, DType::bfloat16) : gradient;
}

bool is_optimized(Graph& graph, const Variable& variable) {
  return variable.category() == MemoryCategory::optimizer ||
         std::ranges::any_of(graph.notes<TrainedMasks>().of,
                             [&](const auto& each) { return each.first == variable; });
}

}  // namespace

std::vector<size_t> bucket_ends(std::span<const int64_t> bytes, int64_t bucket_bytes) {
  std::vector<size_t> ends;
  int64_t left = std::accumulate(bytes.begin(), bytes.end(), int64_t(0)), taken = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    int64_t wanted = std::min(bucket_bytes, std::max(left / 2, bucket_bytes / 16));
    // A gradient that is large by itself does not hold up what is there before it.
    if (taken >= wanted || (taken >= wanted / 4 && taken + bytes[i] > wanted)) {
      ends.push_back(i);
      left -= taken;
      taken = 0;
    }
    taken += bytes[i];
  }
  if (!bytes.empty()) ends.push_back(bytes.size());
  return ends;
}

Values sum_gradients(Graph& graph, const Values& gradients) {
  const Replica& replica = replica_of(graph);
  if (replica.alone()) return gradients;
  Graph::Scope scope(graph, "replicas");
  Graph::Scope phase(graph, Phase::backward);
  std::vector<size_t> order(gradients.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, {}, [&](size_t i) { return made_at(graph, gradients[i]); });
  Values summed(gradients.size());
  std::vector<int64_t> bytes;
  for (size_t i : order) bytes.push_back(bytes_of_sum(gradients[i]));
  size_t first = 0;
  for (size_t end : bucket_ends(bytes, replica.bucket_bytes)) {
    Values bucket;
    for (size_t i = first; i < end; ++i)
      bucket.push_back(on_the_wire(gradients[order[i]], replica));
    Values sums = sum_over_replicas(graph, bucket, replica.wire);
    for (size_t i = 0; i < sums.size(); ++i) {
      size_t which = order[first + i];
      summed[which] = ops::cast(sums[i], gradients[which].dtype());
    }
    first = end;
  }
  return summed;
}

Values average_gradients(Graph& graph, const Values& gradients) {
  const Replica& replica = replica_of(graph);
  if (replica.alone()) return gradients;
  Graph::Scope phase(graph, Phase::backward);
  Values shares;
  for (const Value& gradient : gradients) shares.push_back(gradient * replica.share());
  return sum_gradients(graph, shares);
}

Values means_over_replicas(Graph& graph, const Values& means) {
  const Replica& replica = replica_of(graph);
  if (replica.alone()) return means;
  Graph::Scope scope(graph, "replicas");
  Values shares;
  for (const Value& mean : means) shares.push_back(mean * replica.share());
  return sum_over_replicas(graph, shares);
}

void average_assigned(Graph& graph) {
  if (replica_of(graph).alone()) return;
  Values values;
  std::vector<std::pair<Variable, Assign>> targets;
  for (const Assignment& assignment : graph.assignments()) {
    const Variable& variable = graph.variables()[size_t(assignment.variable)].variable;
    if (!is_floating(variable.dtype()) || is_optimized(graph, variable)) continue;
    values.push_back(graph.value(assignment.value));
    targets.emplace_back(variable, assignment.when);
  }
  Values averages = means_over_replicas(graph, values);
  for (size_t i = 0; i < averages.size(); ++i)
    graph.assign(targets[i].first, averages[i], targets[i].second);
}

Value random_state_of_replica(Graph& graph, const Variable& state) {
  Value whole = graph.variable(state);
  const Replica& replica = replica_of(graph);
  if (replica.rank == 0) return whole;
  Graph::Scope scope(graph, "replicas");
  return whole + Value(Tensor::from<int64_t>({replica.rank, 0}, {2}));
}

}  // namespace stoker
