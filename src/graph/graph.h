// A training step (or an evaluation, or a prediction) as data: SSA values and the nodes that
// compute them, in an order that can be run. Layers append forward nodes, gradients() the backward
// ones, the optimiser the updates. Not thread-safe: one thread builds a graph, then all only read.
#pragma once

#include <any>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/op.h"

namespace stoker {

class LayerBase;

enum class Phase : uint8_t { forward, backward, update };
enum class ValueKind : uint8_t { input, constant, variable, computed };

struct Node {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<int> inputs;   // value ids
  std::vector<int> outputs;  // value ids
  std::string scope;         // the layer that emitted it: "conv2d_1", "optimizer", …
  Phase phase = Phase::forward;

  const OpTraits& traits() const { return op->traits; }
  // For builders that serve several ops, and for patterns that replace exactly the ops they name.
  // What holds for a kind of ops asks traits().
  bool is(std::string_view name) const { return op->name == name; }
  // An op that is a family of functions: unary, binary, reduce.
  bool is(std::string_view name, std::string_view fn) const {
    return is(name) && attrs.get<std::string>("fn") == fn;
  }
};

struct ValueInfo {
  TensorSpec spec;
  ValueKind kind = ValueKind::computed;
  // Computed values: the node's index, -1 once it is gone; others: the index among their kind.
  int source = -1;
};

// What a host can check before a step: inputs whose elements must be whole numbers in [0, limit).
struct InputLimit {
  int64_t limit = 0;
  std::string what;  // "class id", "embedding index"
};

struct GraphInput {
  int value;
  std::string name;
  std::optional<InputLimit> limit;
};
struct GraphConstant {
  int value;
  Tensor tensor;
};
struct GraphVariable {
  int value;
  Variable variable;
};
struct GraphOutput {
  int value;
  std::string name;
};
// Which steps an assignment is part of.
enum class Assign : uint8_t {
  applied,  // steps whose gate is open: weights, moments, moving averages
  always,   // skipped ones too: sums of metrics, the random state, the loss scale
};
// After the step, variables()[variable] holds `value`: the last of its updates.
struct Assignment {
  int variable;
  int value;
  Assign when = Assign::applied;
};

class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;  // Values point into a graph
  Graph& operator=(const Graph&) = delete;

  // --- building ---
  Value input(std::string name, const TensorSpec& spec);
  Value constant(const Tensor& tensor);  // the same Value for the same storage, dtype and shape
  Value number(const Tensor& scalar);    // the same Value for equal scalars (epsilons, ones)
  Value variable(
      const Variable& variable);  // before the step; the same Value for the same variable
  // The contents after the updates so far (or after the first `updates` of the graph). Gradients
  // end there.
  Value read(const Variable& variable, size_t updates = SIZE_MAX);
  Values add(const OpDef& op, const Values& inputs, Attrs attrs);  // inputs: traced in this graph
  // One node of this op computes the same as the nodes behind `outputs` do from `inputs`: distinct
  // results of nodes, everything of theirs that is read elsewhere, and not read yet. Where an
  // engine has a kernel for it, passes::use_fused_forms puts it in their place.
  void offer_fused(const OpDef& op, const Values& inputs, Attrs attrs, const Values& outputs);
  void output(const Value& value, std::string name);
  // An update: what reads the variable from here on reads `value`.
  void assign(const Variable& variable, const Value& value, Assign when = Assign::applied);
  // Remembered if `value` is an input, through reshape and cast; the tightest one counts.
  void limit(const Value& value, InputLimit limit);
  // Updates are skipped, and run() says so, when this float32 scalar is not finite.
  void guard(const Value& value);
  // A step with this float32 scalar not finite is skipped without a word: of its assignments only
  // those that are made `always` are (dynamic loss scaling).
  void gate(const Value& value);

  // --- the body of a loop ---
  // Makes this graph the body of a loop in `outer` while it is traced: it runs in the same mode and
  // dtype, and what it reads of `outer`, variables and constants included, becomes an input of it.
  // Nothing can be assigned and no penalty added in it.
  void begin_body(Graph& outer);
  void end_body();  // from here on `outer` may go
  Graph* outer() const { return outer_; }
  // The input of this body that stands for a value of outer(), or of a graph further out.
  Value capture(const Value& value);
  // By input: the value of outer() that it stands for; undefined for the loop's own.
  const Values& captured() const { return captured_; }
  // What a value of this body is in outer(); undefined for what the body computes.
  Value captured_from(int value) const;

  // The layer and phase that new nodes belong to; restored when the Scope goes. While it lives, ops
  // whose inputs belong to no graph (only variables and constants) on this thread join this one.
  class Scope {
   public:
    Scope(Graph& graph, std::string name);
    Scope(Graph& graph, Phase phase);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    Graph& graph_;
    Graph* outer_;
    std::string name_;
    Phase phase_;
  };
  // The dtype of products (compute_dtype()) until it goes.
  class ComputeDtype {
   public:
    ComputeDtype(Graph& graph, DType dtype) : graph_(graph), before_(graph.compute_dtype_) {
      graph.compute_dtype_ = dtype;
    }
    ~ComputeDtype() { graph_.compute_dtype_ = before_; }
    ComputeDtype(const ComputeDtype&) = delete;
    ComputeDtype& operator=(const ComputeDtype&) = delete;

   private:
    Graph& graph_;
    DType before_;
  };
  // A call of a layer while it runs, and the mode it runs in.
  class Call {
   public:
    Call(Graph& graph, LayerBase& called, bool training)
        : layer(called), outer(graph.call_), graph_(graph), before_(graph.training_) {
      graph.call_ = this;
      graph.training_ = training;
    }
    ~Call() {
      graph_.call_ = outer;
      graph_.training_ = before_;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    LayerBase& layer;
    const Call* const outer;  // the call that made this one; null: none

   private:
    Graph& graph_;
    bool before_;
  };
  // No graph is current() on this thread until it goes.
  class Outside {
   public:
    Outside();
    ~Outside();
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    Graph* outer_;
  };
  const std::string& scope() const { return scope_; }
  static Graph* current();                    // of the innermost Scope of this thread, or null
  const Call* call() const { return call_; }  // the innermost, or null

  // --- what layers ask while they are traced ---
  bool training() const { return training_; }
  void set_training(bool training) { training_ = training; }
  // int64 [2] = {seed, step}; undefined in graphs without randomness. next_stream() gives every
  // user of it a number of its own. One that is offered joins the graph when it is asked for.
  const Value& random_state();
  void set_random_state(const Value& state) { random_state_ = state; }
  void offer_random_state(std::function<Variable()> state) { offered_state_ = std::move(state); }
  bool has_random_state() const { return random_state_.defined(); }
  int64_t next_stream() { return outer_ ? outer_->next_stream() : streams_++; }
  // The dtype of products and of what flows between them (mixed precision); float32: as written.
  // See apply(): convolutions and matrix products take their operands in it.
  DType compute_dtype() const { return compute_dtype_; }
  void set_compute_dtype(DType dtype) { compute_dtype_ = dtype; }
  // The dtype that a layer's own policy asks for, as far as the engine has it.
  DType policy_dtype(const std::string& policy) const;
  using PolicyDtypes = std::function<DType(const std::string& policy)>;
  void set_policy_dtypes(PolicyDtypes dtypes) { policy_dtypes_ = std::move(dtypes); }
  // Scalars that are added to the loss: regularisers, activity penalties.
  void add_penalty(const Value& scalar);
  const Values& penalties() const { return penalties_; }
  // What a room above keeps about a graph while it traces it: one object per type, made when it is
  // first asked for. Not cloned.
  template <class T>
  T& notes() {
    std::any& object = notes_[typeid(T)];
    if (!object.has_value()) object = T();
    return *std::any_cast<T>(&object);
  }

  // --- reading ---
  const std::vector<Node>& nodes() const { return nodes_; }
  // References into it stay valid while the graph grows.
  const std::deque<ValueInfo>& values() const { return values_; }
  const std::vector<GraphInput>& inputs() const { return inputs_; }
  const std::vector<GraphConstant>& constants() const { return constants_; }
  const std::vector<GraphVariable>& variables() const { return variables_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  const std::vector<Assignment>& assignments() const { return assignments_; }
  const std::vector<Node>& fused_forms() const { return fused_forms_; }  // of offer_fused
  uint64_t serial() const { return serial_; }  // of this process's graphs, from 1
  size_t updates() const { return updates_; }  // assign() calls so far
  // All values that read this variable: its contents before the step, then those after updates.
  std::vector<int> reads_of(const Variable& variable) const;
  // Whether a value is what a variable holds, before or after an update.
  bool is_read(int value) const { return read_values_.contains(value); }
  int guard() const { return guard_; }  // value id, or -1
  int gate() const { return gate_; }    // likewise
  const TensorSpec& spec(int value) const { return values_[value].spec; }
  // The node that computes a value; null for inputs, constants and variables.
  const Node* producer(int value) const;
  Value value(int id) { return Value(Value::Traced{this, id}); }
  Cost cost(const Node& node) const;
  Cost cost(Phase phase) const;  // the sum over a phase

  // --- rewriting, for passes; node order stays runnable ---
  std::vector<Node>& mutable_nodes() { return nodes_; }
  int add_value(const TensorSpec& spec, int node);  // a new computed value
  // In nodes, outputs, assignments, the guard and the gate.
  void replace_uses(int from, int to);
  // Drops nodes whose outputs reach none of those. Nodes get new indices, values
  // keep their ids.
  int remove_dead_nodes();
  // Per value: node inputs, outputs, assignments, guard and gate.
  std::vector<int> use_counts() const;
  std::vector<Node> take_fused_forms() { return std::exchange(fused_forms_, {}); }
  // A copy with the same ids, for a backend to rewrite.
  std::unique_ptr<Graph> clone() const;
  std::string dump() const;  // one line per node, for people and tests

 private:
  friend class Scope;
  struct Version {
    size_t updates;  // updates() when it was assigned
    int value;
    Assign when;
    std::vector<int> reads = {};  // values that stand for it
    int gate = -1;                // gate() when the last of them was made
  };
  uint64_t serial_;
  size_t updates_ = 0;
  std::vector<Node> nodes_;
  std::deque<ValueInfo> values_;
  std::vector<GraphInput> inputs_;
  std::vector<GraphConstant> constants_;
  std::vector<GraphVariable> variables_;
  std::vector<GraphOutput> outputs_;
  std::vector<Assignment> assignments_;
  std::vector<Node> fused_forms_;
  std::unordered_map<const void*, int> variable_values_;  // Variable::id() → value id
  std::vector<std::vector<Version>> versions_;            // by variable, in program order
  std::vector<int> assignment_of_;                        // by variable, or -1
  std::unordered_set<int> read_values_;
  std::unordered_map<const void*, std::vector<int>> constants_at_;  // by storage: their indices
  std::map<std::pair<DType, std::string>, int> numbers_;            // by bytes: value ids
  int guard_ = -1;
  int gate_ = -1;
  std::string scope_;
  Phase phase_ = Phase::forward;
  bool training_ = false;
  DType compute_dtype_ = DType::float32;
  PolicyDtypes policy_dtypes_;
  const Call* call_ = nullptr;
  Value random_state_;
  std::function<Variable()> offered_state_;
  int64_t streams_ = 0;
  Values penalties_;
  std::map<std::type_index, std::any> notes_;
  Graph* outer_ = nullptr;
  Values captured_;                     // by input
  std::unordered_map<int, int> inner_;  // by value of outer_: the input that stands for it

  Node make_node(const OpDef& op, const Values& inputs, Attrs attrs) const;  // without outputs
  std::vector<TensorSpec> specs(const std::vector<int>& values) const;
  int read_version(int variable, size_t version);
  Value gated(int variable, size_t version);
  void settle(int variable);
  int add_leaf(const TensorSpec& spec, ValueKind kind, size_t index);
  int own(const Value& value, const char* what) const;  // its id; Error unless traced in this graph
  int own_scalar(const Value& value, const char* what) const;  // likewise, float32 []
};

}  // namespace stoker
