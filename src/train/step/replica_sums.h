// What a training step sums over its replicas: gradients in buckets, what layers assign, the loss.
// With one replica nothing changes and no node is added.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/replica.h"

namespace stoker {

// Where buckets end, for gradients of these sizes in the order in which the backward pass makes them.
// Buckets are about bucket_bytes large. The last ones become smaller, down to a sixteenth: what they
// hold is sent when the backward pass has nothing left to hide it behind.
std::vector<size_t> bucket_ends(std::span<const int64_t> bytes, int64_t bucket_bytes);

// Gradients in buckets of Replica::bucket_bytes, in the order in which the backward pass makes them.
Values sum_gradients(Graph& graph, const Values& gradients);

// The gradients of an own loop, each of the mean over a replica's rows, become those of the mean over
// the whole batch.
Values average_gradients(Graph& graph, const Values& gradients);

// What the forward pass assigned to floating variables (moving averages, power iterations) becomes
// the mean over replicas, weighted by their rows. Not what an optimiser has assigned, which is alike.
void average_assigned(Graph& graph);

// Replicas draw different numbers from the one random state that all of them have.
Value random_state_of_replica(Graph& graph, const Variable& state);

// Scalars that are means over a replica's rows become means over the whole batch.
Values means_over_replicas(Graph& graph, const Values& means);

}  // namespace stoker
