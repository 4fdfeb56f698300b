#include "engine/graph_memory.h"

namespace stoker {

namespace {

size_t bytes_of(const TensorSpec& spec) {
  return size_t(spec.shape.elements()) * size_of(spec.dtype);
}

class GraphBuffers {
 public:
  explicit GraphBuffers(const Graph& graph)
      : graph_(graph), categories_(memory_categories(graph)), of_(graph.values().size(), -1) {
    for (size_t i = 0; i < graph.variables().size(); ++i)
      add(graph.variables()[i].value, BufferKind::variable,
          graph.variables()[i].variable.category());
    std::vector<int> uses = graph.use_counts();
    for (const GraphConstant& constant : graph.constants())
      if (uses[size_t(constant.value)] > 0)
        add(constant.value, BufferKind::constant, MemoryCategory::workspace);
    for (const GraphInput& input : graph.inputs()) {
      add(input.value, BufferKind::input, MemoryCategory::inputs);
      options_.input_bytes += bytes_of(graph.spec(input.value));
    }
    for (size_t i = 0; i < graph.nodes().size(); ++i) run(graph.nodes()[i], int(i));
    keep_results();
  }

  BufferPlan plan() const {
    return plan_buffers(buffers_, lifetimes_, graph_.nodes().size(), options_);
  }

 private:
  void add(int value, BufferKind kind, MemoryCategory category) {
    of_[size_t(value)] = int(buffers_.size());
    buffers_.push_back({kind, bytes_of(graph_.spec(value)), category, -1});
    lifetimes_.emplace_back();
  }

  // The operand that a node may write this result over: its bytes under another name, or the
  // variable that the result is assigned to; -1: none.
  int written_over(const Node& node, size_t output) const {
    if (node.traits().shares_bytes) return node.inputs[0];
    if (!node.traits().updates_variables) return -1;
    for (const Assignment& assignment : graph_.assignments()) {
      if (assignment.value != node.outputs[output]) continue;
      int variable = graph_.variables()[size_t(assignment.variable)].value;
      for (auto [to, from] : node.op->in_place(node.attrs, node.inputs.size()))
        if (size_t(to) == output && node.inputs[size_t(from)] == variable) return variable;
    }
    return -1;
  }

  void run(const Node& node, int at) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      int value = node.outputs[i], over = written_over(node, i);
      if (over >= 0)
        of_[size_t(value)] = of_[size_t(over)];
      else
        add(value, BufferKind::arena, categories_[size_t(value)]);
      lifetimes_[size_t(of_[size_t(value)])].use(at);
    }
    for (int value : node.inputs) lifetimes_[size_t(of_[size_t(value)])].use(at);
  }

  // Outputs stay until the next run, what is assigned until the end of this one.
  void keep_results() {
    for (const GraphOutput& output : graph_.outputs()) keep(output.value);
    for (int value : {graph_.guard(), graph_.gate()})
      if (value >= 0) keep(value);
    if (graph_.nodes().empty()) return;
    for (const Assignment& assignment : graph_.assignments())
      lifetimes_[size_t(of_[size_t(assignment.value)])].use(int(graph_.nodes().size()) - 1);
  }

  void keep(int value) {
    BufferInfo& info = buffers_[size_t(of_[size_t(value)])];
    if (info.kind == BufferKind::arena) info.kind = BufferKind::output;
    if (info.kind != BufferKind::output)  // a leaf: a copy
      buffers_.push_back({BufferKind::output, info.bytes, MemoryCategory::activations, -1});
    lifetimes_.resize(buffers_.size());
  }

  const Graph& graph_;
  std::vector<MemoryCategory> categories_;  // by value
  std::vector<int> of_;                     // by value: its buffer
  std::vector<BufferInfo> buffers_;
  std::vector<Lifetime> lifetimes_;
  PlanOptions options_;
};

}  // namespace

BufferPlan plan_graph(const Graph& graph) { return GraphBuffers(graph).plan(); }

}  // namespace stoker
