#include "engine/reference/program.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "engine/collective.h"
#include "engine/graph_memory.h"
#include "engine/schedule.h"

namespace stoker::reference {

namespace {

bool is_finite(const Array& array) {
  return std::ranges::all_of(array.data, [](Number value) { return std::isfinite(value); });
}

}  // namespace

Kernel find_kernel(const Node& node) {
  auto found = kernel_table().find(node.op->name);
  if (found == kernel_table().end())
    throw Error(fmt::format("the reference backend has no kernel for \"{}\"", node.op->name));
  return found->second;
}

ReferenceProgram::ReferenceProgram(const Graph& graph, Rounding rounding)
    : ReferenceProgram(graph.clone(), rounding) {}

ReferenceProgram::ReferenceProgram(std::unique_ptr<const Graph> graph, Rounding rounding)
    : PlannedProgram(*graph), graph_(std::move(graph)), rounding_(rounding) {
  for (const ValueInfo& info : graph_->values()) {
    bool gone = info.kind == ValueKind::computed && info.source < 0;  // a pass removed its node
    values_.emplace_back(gone ? TensorSpec() : info.spec);
  }
  for (const GraphConstant& constant : graph_->constants())
    load(constant.tensor, values_[size_t(constant.value)]);
  // Now, so that runs of several programs at the same time find them here and move nothing.
  for (const GraphVariable& variable : graph_->variables()) take(variable.variable, rounding_);
  std::vector<KernelInfo> kernels;
  for (const Node& node : graph_->nodes()) {
    Step step{&node, find_kernel(node), {}, {}};
    for (int id : node.inputs) step.inputs.push_back(&values_[size_t(id)]);
    for (int id : node.outputs) step.outputs.push_back(&values_[size_t(id)]);
    steps_.push_back(std::move(step));
    kernels.push_back({node.op->name, "reference", node.scope, node.phase, graph_->cost(node)});
  }
  set_plan(plan_graph(*graph_), std::move(kernels));
  if (graph_->guard() >= 0 && graph_->producer(graph_->guard()) != nullptr)
    guard_ready_ = size_t(graph_->producer(graph_->guard()) - graph_->nodes().data()) + 1;
}

void ReferenceProgram::bind(std::span<const Tensor> inputs) {
  check_inputs(*graph_, inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    load(inputs[i], values_[size_t(graph_->inputs()[i].value)]);
  variables_.clear();
  for (const GraphVariable& variable : graph_->variables()) {
    variables_.push_back(take(variable.variable, rounding_));
    values_[size_t(variable.value)].data = variables_.back()->array().data;
  }
  has_run_ = true;
}

void ReferenceProgram::run_step(const Step& step) {
  for (Array* output : step.outputs) std::ranges::fill(output->data, Number(0));
  step.kernel({step.node->attrs, step.inputs, step.outputs, rounding_});
  for (Array* output : step.outputs) round(*output, rounding_);
}

bool ReferenceProgram::guard_is_finite() const {
  return graph_->guard() < 0 || is_finite(values_[size_t(graph_->guard())]);
}

void ReferenceProgram::write_assignments() {
  bool open = graph_->gate() < 0 || is_finite(values_[size_t(graph_->gate())]);
  for (const Assignment& assignment : graph_->assignments())
    if (open || assignment.when == Assign::always)
      variables_[size_t(assignment.variable)]->array().data =
          values_[size_t(assignment.value)].data;
  count_changes(*graph_, variables_);
}

RunStatus ReferenceProgram::run(std::span<const Tensor> inputs) {
  std::vector<int64_t> nanoseconds;
  return run_timed(inputs, nanoseconds);
}

RunStatus ReferenceProgram::run_timed(std::span<const Tensor> inputs,
                                      std::vector<int64_t>& nanoseconds) {
  using Clock = std::chrono::steady_clock;
  bind(inputs);
  nanoseconds.assign(steps_.size(), 0);
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].node->phase == Phase::update && i >= guard_ready_ && !guard_is_finite()) continue;
    Clock::time_point begin = Clock::now();
    run_step(steps_[i]);
    nanoseconds[i] = std::chrono::nanoseconds(Clock::now() - begin).count();
  }
  if (!guard_is_finite()) return RunStatus::skipped_non_finite;
  write_assignments();
  return RunStatus::ok;
}

std::optional<NonFinite> ReferenceProgram::find_non_finite(std::span<const Tensor> inputs) {
  bind(inputs);
  AloneReplica alone(*graph_);
  Schedule schedule(*graph_);  // updates that nothing reads come last: they are left out
  for (size_t i = 0; i < schedule.first_update; ++i) {
    const Step& step = steps_[size_t(schedule.order[i])];
    run_step(step);
    for (const Array* output : step.outputs)
      if (!is_finite(*output))
        return NonFinite{step.node->op->name, step.node->scope, output->spec};
  }
  return std::nullopt;
}

const Array& ReferenceProgram::output_array(size_t index) const {
  return values_[size_t(graph_->outputs()[index].value)];
}

void ReferenceProgram::read_output(size_t index, void* to, size_t bytes) const {
  std::memcpy(to, to_tensor(output_array(index)).raw(), bytes);
}

double ReferenceProgram::scalar(size_t index) const {
  checked_scalar(index);
  return double(output_array(index)[0]);
}

}  // namespace stoker::reference
