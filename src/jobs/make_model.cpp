// From a job to a model that can be trained.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <stoker/applications.h>
#include <stoker/layers.h>
#include <stoker/schedules.h>

#include "engine/registry.h"
#include "jobs/table_data.h"
#include "jobs/train_job.h"

namespace stoker::jobs {

namespace {

// steps: of the whole training; 0: not known, and the rate stays.
LearningRate rate_of(const Job& job, double fallback, int64_t steps) {
  double rate = job.learning_rate.value_or(fallback);
  auto warm_up = int64_t(double(steps) * job.warmup_epochs / double(job.epochs));
  if (steps > 0 && job.schedule == "cosine") {
    CosineDecayOptions cosine{.initial_learning_rate = rate, .decay_steps = steps - warm_up};
    if (warm_up > 0)
      cosine = {.initial_learning_rate = 0,
                .decay_steps = steps - warm_up,
                .warmup_target = rate,
                .warmup_steps = warm_up};
    return CosineDecay(cosine);
  }
  if (warm_up > 0) return WarmUp({.schedule = rate, .warmup_steps = warm_up});
  return rate;
}

Optimizer optimizer_of(const Job& job, int64_t steps) {
  Optimizer standard(job.optimizer);
  Attrs config = standard.config();
  if (config.has("momentum") && job.momentum > 0) config.set("momentum", job.momentum);
  if (job.weight_decay) config.set("weight_decay", *job.weight_decay);
  return standard.with_config(config, rate_of(job, config.get<double>("learning_rate"), steps));
}

std::vector<Metric> metrics_of(const std::string& names) {
  std::vector<Metric> metrics;
  for (size_t begin = 0; begin < names.size();) {
    size_t end = std::min(names.find(',', begin), names.size());
    metrics.emplace_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return metrics;
}

Model loaded(const Job& job, const TensorSpec& picture, int64_t classes) {
  Model model = load_model(job.model);
  Shape wanted = picture.shape.prepend(-1);
  if (model.inputs().size() != 1 || model.inputs()[0].shape() != wanted)
    throw ShapeError(fmt::format("{}: the model takes {}, but the data gives {}", job.model,
                                 to_string(model.inputs()[0].shape()), to_string(wanted)));
  if (model.outputs().size() != 1 || model.outputs()[0].shape()[-1] != classes)
    throw ShapeError(fmt::format("{}: the model has {} classes, but the data {}", job.model,
                                 model.outputs()[0].shape()[-1], classes));
  return model;
}

constexpr const char* kNormalize = "normalize";

// Columns have any scale, down to that of a share of a share: no epsilon to speak of. A frozen
// BatchNormalization uses the statistics that it is given.
Model table_model(const Job& job, const Shape& row, int64_t classes) {
  if (job.model != "mlp")
    throw ValueError(fmt::format(
        "model: \"{}\" takes pictures, but the data is a table of {} columns; give --model mlp",
        job.model, row[0]));
  Value input = Input(row);
  BatchNormalization normalize(
      {.epsilon = 1e-12, .center = false, .scale = false, .name = kNormalize});
  normalize.set_trainable(false);
  Value x = normalize(input);
  for (int layer = 0; layer < 2; ++layer) x = Dense(512, {.activation = "relu"})(x);
  Value y = Dense(classes, {.activation = "softmax", .name = "predictions"})(x);
  return Model(input, y, {.name = "mlp"});
}

}  // namespace

void configure_context(const Job& job, std::ostream* out) {
  Context& context = default_context();
  if (job.seed) context.seed.set(*job.seed);
  set_threads({.pipeline = int(job.pipeline_threads), .compute = int(job.threads)});
  set_global_policy(job.precision);
  find_device(job.device);  // checks it
  context.device = job.device;
  context.memory_limit = size_t(job.memory_limit);
  context.out = out;
}

Model make_model(const Job& job, const TensorSpec& picture, int64_t classes) {
  if (job.model.ends_with(".stoker")) return loaded(job, picture, classes);
  if (picture.shape.rank() == 1) return table_model(job, picture.shape, classes);
  return applications::by_name(
      job.model, {.input_shape = picture.shape, .classes = classes, .dtype = picture.dtype});
}

Model make_model(const Job& job, const JobData& data) {
  Model model = make_model(job, data.picture, data.classes);
  if (!data.train.table() || job.model.ends_with(".stoker")) return model;
  ColumnStatistics statistics = column_statistics(data.train.elements);
  model.get_layer(kNormalize).set_weights({statistics.mean, statistics.variance});
  return model;
}

void compile_model(const Job& job, const Model& model, int64_t steps) {
  model.compile({.optimizer = optimizer_of(job, steps),
                 .loss = job.loss,
                 .metrics = metrics_of(job.metrics)});
}

}  // namespace stoker::jobs
