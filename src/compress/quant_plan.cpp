#include "compress/quant_plan.h"

#include <algorithm>

#include "compress/masks.h"
#include "compress/step_maker.h"

namespace stoker::compress {

QuantPlan::QuantPlan(const Model& model, const PlanRequest& request) {
  check_names(model, request.layers, request.action);
  check_names(model, request.exclude, request.action);
  const Topology& topology = ModelAccess::base(model).topology(request.action);
  inputs_ = topology.inputs;
  input_names_ = topology.input_names;
  StepMaker maker(*this, request);
  std::vector<int> given;
  for (size_t i = 0; i < topology.inputs.size(); ++i)
    given.push_back(maker.new_edge(topology.inputs[i].spec(), topology.input_names[i], -1));
  outputs_ = maker.open(ModelAccess::base(model), "", given);
  link();
  take_followers();
  choose(request);
  unite_scales();
}

void QuantPlan::link() {
  for (EdgeInfo& edge : edges_) edge.readers.clear();
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].taken) continue;
    for (const auto& list : {steps_[i].inputs, steps_[i].masks})
      for (const Operand& one : list)
        if (one.edge >= 0) edges_[size_t(one.edge)].readers.push_back(int(i));
  }
  for (int edge : outputs_) edges_[size_t(edge)].is_output = true;
}

int64_t QuantPlan::calls_of(const Layer& layer) const {
  return std::ranges::count_if(steps_, [&](const Step& step) {
    return step.layer.shared() != nullptr && step.layer == layer;
  });
}

bool QuantPlan::follows_alone(int edge) const {
  return edges_[size_t(edge)].readers.size() == 1 && !edges_[size_t(edge)].is_output;
}

void QuantPlan::take_followers() {
  for (Step& step : steps_) {
    bool takes = step.kind <= StepKind::multiply && step.kind != StepKind::batch_norm;
    while (takes && !step.activation.shared() && follows_alone(step.outputs[0])) {
      Step& next = steps_[size_t(edges_[size_t(step.outputs[0])].readers[0])];
      bool once = step.layer.shared() != nullptr && calls_of(step.layer) == 1;
      if (next.kind == StepKind::batch_norm && step.kind == StepKind::product && once &&
          !step.batch_norm.shared() && calls_of(next.layer) == 1) {
        step.batch_norm = next.layer;
        step.batch_norm_path = next.path;
      } else if (next.kind == StepKind::activation && clip_of(next.layer) &&
                 (once || step.kind != StepKind::product || next.path == step.path)) {
        step.activation = next.layer;
        step.activation_path = next.path;
        step.clip = clip_of(next.layer);
      } else {
        break;
      }
      next.taken = true;
      step.outputs = next.outputs;
      edges_[size_t(step.outputs[0])].maker = int(&step - steps_.data());
    }
  }
  link();
}

// --- what shares a scale ---------------------------------------------------------------------------

int QuantPlan::group_of(int edge) const {
  while (edges_[size_t(edge)].group != edge) edge = edges_[size_t(edge)].group;
  return edge;
}

void QuantPlan::unite(int a, int b) {
  int first = group_of(a), second = group_of(b);
  edges_[size_t(std::max(first, second))].group = std::min(first, second);
}

void QuantPlan::unite_scales() {
  for (size_t i = 0; i < edges_.size(); ++i) edges_[i].group = int(i);
  std::map<const LayerBase*, const Step*> first;
  for (const Step& step : steps_) {
    if (step.taken || !step.int8) continue;
    if (step.kind >= StepKind::max_pool)
      for (const Operand& one : step.inputs) unite(one.edge, step.outputs[0]);
    if (step.kind != StepKind::product) continue;
    auto [found, fresh] = first.emplace(&step.layer.base(), &step);
    if (fresh) continue;  // called again: one layer has one set of scales
    unite(found->second->inputs[0].edge, step.inputs[0].edge);
    unite(found->second->outputs[0], step.outputs[0]);
  }
}

}  // namespace stoker::compress
