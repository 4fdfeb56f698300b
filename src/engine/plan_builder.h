// What the builders of all engines share while a graph becomes a program: the walk over its nodes,
// which value lies in which buffer, what may be overwritten, what is kept for outputs and
// assignments, and what every instruction costs. An engine adds how a node becomes instructions.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <vector>

#include "engine/instruction.h"
#include "engine/kernel_costs.h"
#include "engine/schedule.h"

namespace stoker {

class PlanBuilder {
 public:
  virtual ~PlanBuilder() = default;

  // --- the graph ---
  const Graph& graph() const { return graph_; }
  const TensorSpec& spec(int value) const { return graph_.spec(value); }
  const Shape& shape(int value) const { return spec(value).shape; }
  const Node& node() const { return graph_.nodes()[size_t(node_)]; }  // that is built
  int node_index() const { return node_; }                            // -1: none
  int index_of(const Node& node) const { return int(&node - graph_.nodes().data()); }
  bool in_updates() const { return in_updates_; }  // behind the guard

  int scratch(size_t bytes);  // workspace of the next instruction
  int kept(size_t bytes);     // what a forward op leaves for its gradient
  int bucket(size_t bytes);   // where gradients are summed over replicas
  int part_of(int buffer, size_t offset, size_t bytes);
  // Whether anything reads a value: a result that nothing reads need not be made.
  bool is_read(int value) const { return schedule_.last_use[size_t(value)] >= 0; }

  // --- work under way ---
  // `finish` defines the results of node() and is called when one of them is first asked for, or
  // before the updates.
  void finish_later(std::function<void()> finish) { under_way_[node_] = std::move(finish); }

 protected:
  // What an engine may leave out of the cost of an instruction.
  enum class OwnBytes : uint8_t {
    counted,
    left_out,  // of instructions that stand for no node, as reorders
  };
  // The graph is the one of parts(): it must outlive the builder's work.
  PlanBuilder(const Graph& graph, OwnBytes own_bytes);

  // --- what an engine does ---
  virtual PlannedParts& parts() = 0;
  virtual size_t instructions() const = 0;  // so far
  virtual void build_node() = 0;            // node()
  virtual bool is_defined(int value) const = 0;
  virtual int row_major(int value) = 0;        // its buffer in that order
  virtual void place_variable(int value) = 0;  // one that is not defined, in any order
  // Whether a value is, at the end of the step's computations, what lies in a variable.
  virtual bool lies_in_variable(int value) = 0;
  virtual void emit_copy(int from, int to, size_t bytes) = 0;
  // Variables get what they are assigned; staged() has what an update might overwrite before.
  virtual void write_assignments() = 0;

  // --- buffers ---
  int new_buffer(BufferInfo info);
  BufferInfo& buffer(int index) { return parts().buffers[size_t(index)]; }
  // A variable's, a constant's or an input's.
  int new_leaf_buffer(const ValueInfo& info, size_t bytes);
  void hold(int value, int buffer);         // the value lies there from now on
  int new_result(int value, size_t bytes);  // a buffer that holds it
  // The first of `buffers` (-1: none) of that size whose contents nothing needs any more, or -1.
  int reusable(size_t bytes, std::initializer_list<int> buffers);
  int value_in(int buffer) const { return buffer_value_[size_t(buffer)]; }
  // Whether `output` may be written over `input`, the variable it is assigned to.
  bool overwrites_variable(int output, int input) const;
  int staged(size_t assignment) const { return staged_[assignment]; }  // a buffer, or -1
  bool finish(int value);  // whether it was under way; now it is defined

  // --- instructions ---
  // Operands, results, scope and op of one that is appended next.
  Instruction describe(InstructionCall call);
  // By instruction. `into`: see costs_of.
  std::vector<Cost> costs(std::span<const int> into) const { return costs_of(graph_, into, work_); }

  // All nodes, then assignments and what no node has asked for.
  void walk();

  Schedule schedule_;
  int position_ = -1;  // of the node that is built, in the schedule

 private:
  int keep(int value);
  void finish_all();
  void finish_outputs();
  double touched(std::vector<int> buffers);

  const Graph& graph_;
  OwnBytes own_bytes_;
  int node_ = -1;
  bool in_updates_ = false;
  std::vector<MemoryCategory> categories_;          // by value
  std::vector<int> buffer_last_;                    // by buffer: the last use of any value in it
  std::vector<int> buffer_value_;                   // by buffer: the value last put there, or -1
  std::vector<int> staged_;                         // by assignment
  std::vector<KernelWork> work_;                    // by instruction
  std::map<int, std::function<void()>> under_way_;  // by node
};

}  // namespace stoker
