// Distiller: what it is given, checked, and the projections of its features.
#include <stoker/distill.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <stoker/layers.h>

#include "compress/distiller.h"
#include "graph/graph.h"
#include "nn/layer_tree.h"
#include "nn/watched_layers.h"
#include "train/model/trainer.h"

namespace stoker {

namespace {

using compress::DistillerBase;
using compress::Feature;

void check_distill_options(const DistillOptions& options) {
  if (!(options.alpha >= 0 && options.alpha <= 1))  // NaN too
    throw ValueError(
        fmt::format("Distiller: alpha is {}, expected a number in [0, 1]", options.alpha));
  if (!(options.temperature > 0) || !std::isfinite(options.temperature))
    throw ValueError(fmt::format("Distiller: temperature is {}, expected a number above 0",
                                 options.temperature));
  for (const FeaturePair& pair : options.features)
    if (!(pair.weight >= 0) || !std::isfinite(pair.weight))
      throw ValueError(
          fmt::format("Distiller: the weight of feature \"{}\" is {}, expected a "
                      "number of 0 or more",
                      pair.student, pair.weight));
}

void check_apart(const Model& teacher, const Model& student) {
  std::vector<Variable> taught = teacher.weights();
  for (const Variable& weight : student.weights())
    if (std::ranges::find(taught, weight) != taught.end())
      throw ValueError(
          fmt::format("Distiller: teacher and student share the weight \"{}\", which training "
                      "would change in both; make the student of layers of its own",
                      weight.name()));
}

bool alike(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int axis = 1; axis < a.rank(); ++axis)
    if (a[axis] >= 0 && b[axis] >= 0 && a[axis] != b[axis]) return false;
  return true;
}

void check_ends_alike(const char* what, const Values& teacher, const Values& student,
                      const char* advice) {
  if (teacher.size() != student.size())
    throw ValueError(
        fmt::format("Distiller: the teacher has {} {}s, the student {}; expected the "
                    "same number, in the same order",
                    teacher.size(), what, student.size()));
  for (size_t i = 0; i < teacher.size(); ++i)
    if (!alike(teacher[i].shape(), student[i].shape()))
      throw ShapeError(
          fmt::format("Distiller: {} {} is {} in the teacher and {} in the student; {}", what, i,
                      to_string(teacher[i].shape()), to_string(student[i].shape()), advice));
}

Layer feature_layer(const Model& model, const char* whose, const std::string& name) {
  Layer found = find_descendant(model.layers(), "", name);
  if (found.shared() != nullptr) return found;
  std::string names;
  for (const Layer& layer : model.layers())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", layer.name());
  throw ValueError(fmt::format("Distiller: the {} has no layer \"{}\" for a feature; there are {}",
                               whose, name, names));
}

// What layers give for a batch of two, in inference mode.
std::vector<TensorSpec> given_by(const Model& model, const char* whose,
                                 const std::vector<Layer>& layers) {
  std::lock_guard lock(building());
  constexpr int64_t kAnyBatch = 2;
  ModelBase& base = ModelAccess::base(model);
  const Topology& topology = base.topology("Distiller");
  Graph graph;
  graph.offer_random_state([] { return make_random_state("distill/random_state", 0, 0); });
  auto& watched = graph.notes<WatchedLayers>().outputs;
  for (const Layer& layer : layers) watched[&layer.base()] = Value();
  Values inputs;
  for (size_t i = 0; i < topology.inputs.size(); ++i) {
    TensorSpec row = topology.input_row(i);
    inputs.push_back(graph.input(
        topology.input_names[i],
        {row.dtype, with_trial_extents(row.shape).prepend(topology.batch_or(kAnyBatch))}));
  }
  CallContext context(graph);
  Graph::Scope scope(graph, "inputs");
  base.call(inputs, context);
  std::vector<TensorSpec> specs;
  for (const Layer& layer : layers) {
    const Value& output = watched.at(&layer.base());
    if (!output.defined())
      throw ValueError(
          fmt::format("Distiller: {} of the {} gives no feature: it is not called when the model "
                      "runs, or only step by step inside of a loop",
                      layer.base().title(), whose));
    specs.push_back(output.spec());
  }
  return specs;
}

// Undefined where the features have the same width.
Layer projection_for(const FeaturePair& pair, const TensorSpec& student, const TensorSpec& teacher,
                     size_t number) {
  const Shape &from = student.shape, &to = teacher.shape;
  bool floats = is_floating(student.dtype) && is_floating(teacher.dtype);
  bool same_places = from.rank() == to.rank() && from.rank() > 1;
  for (int axis = 0; same_places && axis + 1 < from.rank(); ++axis)
    same_places = from[axis] == to[axis];
  if (!floats || !same_places)
    throw ShapeError(fmt::format(
        "Distiller: feature \"{}\" of the student is {}, \"{}\" of the teacher {}; only the last "
        "extents may differ: choose layers with the same resolution, before the pooling of one of "
        "them, say",
        pair.student, to_string(student), pair.teacher, to_string(teacher)));
  if (from[-1] == to[-1]) return {};
  Layer projection =
      Dense(to[-1], {.use_bias = false, .name = fmt::format("distill_projection_{}", number)});
  projection(sketch_input("feature", {DType::float32, from.drop_front()}));
  return projection;
}

std::vector<Feature> features_of(const Model& teacher, const Model& student,
                                 const std::vector<FeaturePair>& pairs) {
  std::vector<Layer> learning, teaching;
  for (const FeaturePair& pair : pairs) {
    learning.push_back(feature_layer(student, "student", pair.student));
    teaching.push_back(feature_layer(teacher, "teacher", pair.teacher));
  }
  if (pairs.empty()) return {};
  std::vector<TensorSpec> from = given_by(student, "student", learning);
  std::vector<TensorSpec> to = given_by(teacher, "teacher", teaching);
  std::vector<Feature> features;
  for (size_t i = 0; i < pairs.size(); ++i)
    features.push_back(
        {learning[i], teaching[i], projection_for(pairs[i], from[i], to[i], i), pairs[i]});
  return features;
}

Model distilling(const Model& teacher, const Model& student, const DistillOptions& options) {
  check_distill_options(options);
  check_ends_alike("input", teacher.inputs(), student.inputs(),
                   "both get the same batch: put a Resizing or a Reshape at the front of one");
  check_ends_alike("output", teacher.outputs(), student.outputs(),
                   "a teacher of other classes cannot teach: give both the same outputs");
  check_apart(teacher, student);
  std::vector<Feature> features = features_of(teacher, student, options.features);
  const ModelBase& base = ModelAccess::base(student);
  auto made = base.sequential()
                  ? std::make_shared<DistillerBase>(teacher, student.inputs()[0], base.layers(),
                                                    base.label(), options)
                  : std::make_shared<DistillerBase>(teacher, base, options);
  made->set_features(std::move(features));
  return ModelAccess::wrap(made);
}

}  // namespace

Distiller::Distiller(const Model& teacher, const Model& student, const DistillOptions& options)
    : Model(distilling(teacher, student, options)), teacher_(teacher), student_(student) {}

}  // namespace stoker
