// From a job to a model that can be trained.
#include <algorithm>
#include <cmath>
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

Model loaded(const Job& job, const TensorSpec& picture, const Outputs& outputs) {
  Model model = load_model(job.model);
  Shape wanted = picture.shape.prepend(-1);
  if (model.inputs().size() != 1 || model.inputs()[0].shape() != wanted)
    throw ShapeError(fmt::format("{}: the model takes {}, but the data gives {}", job.model,
                                 to_string(model.inputs()[0].shape()), to_string(wanted)));
  if (model.outputs().size() != 1 || model.outputs()[0].shape()[-1] != outputs.count)
    throw ShapeError(fmt::format("{}: the model has {} {}, but the data {}", job.model,
                                 model.outputs()[0].shape()[-1],
                                 outputs.classes ? "classes" : "outputs", outputs.count));
  return model;
}

constexpr const char *kNormalize = "normalize", *kScale = "scale";

// Columns have any scale, down to that of a share of a share: no epsilon to speak of. A frozen
// BatchNormalization uses the statistics that it is given.
Layer frozen_normalization(bool affine, const char* name) {
  BatchNormalization layer({.epsilon = 1e-12, .center = affine, .scale = affine, .name = name});
  layer.set_trainable(false);
  return layer;
}

Model table_model(const Job& job, const Shape& row, const Outputs& outputs) {
  if (job.model != "mlp")
    throw OptionError(fmt::format(
        "model: \"{}\" takes pictures, but the data is a table of {} columns; give --model mlp",
        job.model, row[0]));
  Value input = Input(row);
  Value x = frozen_normalization(false, kNormalize)(input);
  for (int layer = 0; layer < 2; ++layer) x = Dense(512, {.activation = "relu"})(x);
  const char* activation = outputs.classes ? "softmax" : "linear";
  Value y = Dense(outputs.count, {.activation = activation, .name = "predictions"})(x);
  if (!outputs.classes) y = frozen_normalization(true, kScale)(y);
  return Model(input, y, {.name = "mlp"});
}

}  // namespace

void configure_context(const Job& job, std::ostream* out) {
  Context& context = default_context();
  if (job.seed) context.seed.set(*job.seed);
  set_threads({.pipeline = int(job.pipeline_threads), .compute = int(job.threads)});
  as_option([&] { set_global_policy(job.precision); });
  find_device(job.device);  // checks it
  context.device = job.device;
  context.memory_limit = size_t(job.memory_limit);
  context.out = out;
}

Model make_model(const Job& job, const TensorSpec& picture, const Outputs& outputs) {
  if (job.model.ends_with(".stoker")) return loaded(job, picture, outputs);
  if (picture.shape.rank() == 1) return table_model(job, picture.shape, outputs);
  return as_option([&] {
    return applications::by_name(
        job.model,
        {.input_shape = picture.shape, .classes = outputs.count, .dtype = picture.dtype});
  });
}

Model make_model(const Job& job, const JobData& data) {
  Model model = make_model(job, data.picture, data.outputs());
  if (!data.train.table() || job.model.ends_with(".stoker")) return model;
  Statistics columns = statistics_of(data.train.elements, 0);
  model.get_layer(kNormalize).set_weights({columns.mean, columns.variance});
  if (data.classes > 0) return model;
  Statistics targets = statistics_of(data.train.elements, 1);
  Tensor deviation = targets.variance.clone();
  for (float& value : std::span(deviation.data_mut<float>(), size_t(deviation.elements())))
    value = std::sqrt(value);
  const Shape& shape = deviation.shape();
  model.get_layer(kScale).set_weights(
      {deviation, targets.mean, Tensor::zeros(shape), Tensor::full(shape, 1)});
  return model;
}

void compile_model(const Job& job, const Model& model, int64_t steps) {
  CompileArgs args = as_option([&] {
    return CompileArgs{.optimizer = optimizer_of(job, steps),
                       .loss = job.loss,
                       .metrics = metrics_of(job.metrics)};
  });
  model.compile(args);
}

}  // namespace stoker::jobs
