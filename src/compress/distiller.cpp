#include "compress/distiller.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/losses.h>
#include <stoker/ops.h>

#include "graph/graph.h"
#include "nn/layer_tree.h"
#include "nn/masks.h"
#include "nn/targets.h"
#include "nn/watched_layers.h"
#include "train/model/trainer.h"

namespace stoker::compress {

namespace {

std::vector<Variable> joined(std::vector<Variable> all, const std::vector<Variable>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return each_once(all);
}

void watch(Graph& graph, const Layer& layer) {
  graph.notes<WatchedLayers>().outputs[&layer.base()] = Value();
}

Value watched_output(Graph& graph, const Layer& layer) {
  return graph.notes<WatchedLayers>().outputs.at(&layer.base());
}

// An own layer may update a weight in every mode.
void check_unchanged(const Graph& graph, const Model& teacher) {
  std::set<const void*> assigned;
  for (const Assignment& each : graph.assignments())
    assigned.insert(graph.variables()[size_t(each.variable)].variable.id());
  for (const Variable& weight : teacher.weights())
    if (assigned.contains(weight.id()))
      throw Error(
          fmt::format("Distiller: a layer of the teacher updates its weight \"{}\" in inference "
                      "mode too, so that the teacher would change; update it only where "
                      "CallContext::training() says so",
                      weight.name()));
}

// Weights of one number per sample; others need not fit what a layer inside gives.
Value weights_per_sample(const Value& weights) {
  if (!weights.defined()) return {};
  const Shape& shape = weights.shape();
  bool fits = shape.rank() == 1 || shape.elements() == shape[0];
  return fits ? ops::reshape(weights, {shape[0]}) : Value();
}

}  // namespace

DistillerBase::DistillerBase(const Model& teacher, const ModelBase& student,
                             const DistillOptions& options)
    : ModelBase(student.topology("Distiller").inputs, student.topology("Distiller").outputs,
                student.label()),
      teacher_(teacher),
      options_(options) {}

DistillerBase::DistillerBase(const Model& teacher, const Value& input,
                             const std::vector<Layer>& layers, const std::string& name,
                             const DistillOptions& options)
    : ModelBase(input, layers, name), teacher_(teacher), options_(options) {}

Values DistillerBase::call(const Values& inputs, CallContext& context) {
  for (const Feature& feature : features_) watch(context.graph(), feature.student);
  return ModelBase::call(inputs, context);
}

std::vector<Layer> DistillerBase::training_layers() const {
  std::vector<Layer> projections;
  for (const Feature& feature : features_)
    if (feature.projection.shared() != nullptr) projections.push_back(feature.projection);
  return projections;
}

std::vector<Layer> DistillerBase::children() const {
  std::vector<Layer> all = ModelBase::children();
  for (const Layer& projection : training_layers()) all.push_back(projection);
  return all;
}

std::vector<Variable> DistillerBase::weights() const {
  std::vector<Variable> all = ModelBase::weights();
  for (const Layer& projection : training_layers()) all = joined(all, projection.weights());
  return all;
}

std::vector<Variable> DistillerBase::trainable_weights() const {
  std::vector<Variable> all = ModelBase::trainable_weights();
  for (const Layer& layer : training_layers()) all = joined(all, layer.trainable_weights());
  return all;
}

std::vector<std::string> DistillerBase::losses_beside() const {
  std::vector<std::string> names = {"student_loss", "distillation_loss"};
  if (!features_.empty()) names.emplace_back("feature_loss");
  return names;
}

Values DistillerBase::teach(Graph& graph, const Values& inputs) {
  for (const Feature& feature : features_) watch(graph, feature.teacher);
  Values outputs = teacher_.call_all(inputs, {.training = false});
  check_unchanged(graph, teacher_);
  for (Value& output : outputs) output = cast_to(output, DType::float32);
  return outputs;
}

Value DistillerBase::output_loss(size_t index, const Value& taught, const Value& student,
                                 const Value& weights) const {
  const Compiled& compiled = *trainer->compiled;
  const Compiled* teacher = ModelAccess::base(teacher_).trainer->compiled.get();
  bool known = teacher != nullptr && teacher->losses.size() > index;
  const Loss none;
  Value loss = distillation_loss(
      {taught, student, compiled.losses[index], known ? teacher->losses[index] : none,
       topology("Distiller").output_names[index]},
      options_, weights);
  double weight = compiled.loss_weights[index];
  return weight == 1.0 ? loss : loss * weight;
}

Value DistillerBase::feature_loss(Graph& graph, const Feature& feature, const Value& weights) {
  Value taught = cast_to(watched_output(graph, feature.teacher), DType::float32);
  Value learnt = watched_output(graph, feature.student);
  if (feature.projection.shared() != nullptr) learnt = feature.projection(learnt);
  Value wide = cast_to(learnt, DType::float32);
  if (mask_of(learnt).defined() && !mask_of(wide).defined()) copy_mask(learnt, wide);
  return MeanSquaredError()(taught, wide, weights_per_sample(weights)) * feature.pair.weight;
}

StepLoss DistillerBase::step_loss(Graph& graph, const Value& of_targets, const StepValues& values) {
  Values taught = teach(graph, values.inputs);
  Value distilled;
  for (size_t i = 0; i < taught.size(); ++i) {
    Value one = output_loss(i, taught[i], values.predictions[i], values.weights[i]);
    distilled = i == 0 ? one : distilled + one;
  }
  Value own = of_targets.defined() ? of_targets : graph.number(Tensor(0.0F));
  StepLoss loss{own * options_.alpha + distilled * (1 - options_.alpha), {own, distilled}};
  if (features_.empty()) return loss;
  Value features;
  for (const Feature& feature : features_) {
    Value one = feature_loss(graph, feature, values.weights[0]);
    features = features.defined() ? features + one : one;
  }
  loss.total = loss.total + features;
  loss.beside.push_back(features);
  return loss;
}

}  // namespace stoker::compress
