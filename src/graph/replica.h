// A graph that is one of several replicas of a step: each has some rows of the whole batch, and what
// depends on them is summed over all replicas, so that every replica updates its variables alike.
// Layers, losses and metrics that count over the batch ask here; with one replica (the default) all
// of it is the identity and adds no node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <stoker/value.h>
#include <stoker/variable.h>

#include "graph/state_shards.h"

namespace stoker {

class OpRegistry;
struct HostFunction;
struct Node;

// Among a graph's notes().
struct Replica {
  int64_t ranks = 1, rank = 0;
  int64_t rows = 0;   // of the whole batch, its own; 0: none, it runs on rows that count nothing
  int64_t whole = 0;  // rows of the whole batch; 0: not known, all replicas count alike
  std::string wire = "float32";    // of gradients
  int64_t bucket_bytes = 4 << 20;  // gradients are summed in groups of about this size
  int64_t next_sum = 0;            // numbers the sums of this graph
  // What carries the sums (engine/collective.h); null where there is one replica.
  std::shared_ptr<const HostFunction> group = nullptr;
  // Which replica keeps which optimiser state; null: every replica keeps all of it.
  std::shared_ptr<StateShards> shards = nullptr;
  // The step is an own loop's: apply() averages its gradients, since no loss has been weighted.
  bool averages_gradients = false;

  bool alone() const { return ranks == 1; }
  bool absent() const { return whole > 0 && rows == 0; }
  // The part of the whole batch that its mean stands for.
  double share() const { return whole > 0 ? double(rows) / double(whole) : 1.0 / double(ranks); }
};

// Among a graph's notes(): which outputs are rows of the replica, so that those of all replicas of a
// process are joined. Empty: none.
struct JoinedOutputs {
  std::vector<bool> list;
};

// Of the step that a graph, or the body of a loop in it, belongs to.
Replica& replica_of(Graph& graph);

void register_collective_ops(OpRegistry& registry);
// Joins the other replicas of the step: all of them run it, and all collectives in one order.
bool is_collective(const Node& node);
// Bytes that one replica sends, and receives, in an all_reduce.
double wire_bytes(const Graph& graph, const Node& node);

// The graph's variable `index` is another one of the same spec from now on, a replica's own. For
// graphs that are complete.
void rebind_variable(Graph& graph, size_t index, const Variable& variable);

// Sums over all replicas, of values in one all_reduce: all floating, or all integers. What an absent
// replica adds is zero. Error inside a loop.
Values sum_over_replicas(Graph& graph, const Values& values, const std::string& wire = "float32");
Value sum_over_replicas(const Value& value);

// Float32 values that one replica each has, on all replicas, bit for bit. `own`: undefined where
// another replica has it; `like`: what has its shape.
Values gather_over_replicas(Graph& graph, const Values& own, const std::vector<Variable>& like);

// A number that divides a sum over the batch, such as the count of unmasked steps: its mean over
// the replicas, weighted so that sum_i(share_i · x_i / result_i) = sum_i(x_i) / sum_i(number_i).
Value divisor_over_replicas(const Value& number);

// What a replica returns for a value that is summed over the batch (not averaged): with the weight
// share() that every loss gets, the replicas add up to the whole.
Value sum_as_share(const Value& sum);

// Adds `more`, summed over all replicas, to a variable of sums, in skipped steps too. Where there
// are several replicas the assignment waits for assign_pending_sums(), which sums all of them at
// once; reads of the variable before that see it without `more`.
void add_over_replicas(Graph& graph, const Variable& variable, const Value& more);
void assign_pending_sums(Graph& graph);

}  // namespace stoker
