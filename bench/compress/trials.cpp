#include "compress/trials.h"

#include <array>
#include <cmath>

#include <stoker/applications.h>
#include <stoker/dataset.h>
#include <stoker/distill.h>
#include <stoker/flops.h>
#include <stoker/lighter.h>
#include <stoker/numpy.h>
#include <stoker/onnx.h>
#include <stoker/prune.h>
#include <stoker/quantize.h>

namespace stoker::bench {

namespace {

constexpr const char* kLoss = "sparse_categorical_crossentropy";
constexpr int64_t kTimedBatch = 64;  // of steps that are timed, and of peers

Batch timed_batch(const Task& task) {
  return {task.test_x.slice(0, kTimedBatch), task.test_y.slice(0, kTimedBatch)};
}

void compile_for(const Model& model, double rate, int64_t steps) {
  model.compile({.optimizer = Adam({.learning_rate = CosineDecay(
                                        {.initial_learning_rate = rate, .decay_steps = steps})}),
                 .loss = kLoss,
                 .metrics = {"accuracy"}});
}

int64_t steps_of(const Task& task, const Training& how, int64_t epochs) {
  return epochs * ((task.x.shape()[0] + how.batch - 1) / how.batch);
}

void fit_for(const Model& model, const Task& task, const Training& how, int64_t epochs,
             const std::vector<CallbackRef>& callbacks = {}) {
  model.fit(task.x, task.y,
            {.epochs = epochs, .batch_size = how.batch, .verbose = 0, .callbacks = callbacks});
}

// Its own weights, with the same values.
Model copy_of(const Model& model) { return strip(model); }

double accuracy_of(const Model& model, const Task& task) {
  return 100 * model.evaluate(task.test_x, task.test_y, {.batch_size = 100})["accuracy"];
}

double ratio(const StepTime& before, const StepTime& after) {
  return before.seconds / after.seconds;
}

void try_pruning(const Model& begun, const Task& task, const Training& how, Trial& trial) {
  Model copy = copy_of(begun);
  int64_t steps = steps_of(task, how, how.recovery), end = std::max<int64_t>(1, steps / 3);
  compile_for(copy, 2e-3, steps);
  Pruning pruning({.sparsity = 0.9},
                  PolynomialSparsity{.end_step = end, .frequency = std::max<int64_t>(1, end / 20)});
  fit_for(copy, task, how, how.recovery, {pruning});
  trial.pruned = accuracy_of(copy, task);
}

void try_channels(const Trained& networks, const Task& task, const Training& how, Trial& trial) {
  const Model& model = networks.model;
  Model copy = copy_of(networks.begun);
  compile_for(copy, 1e-3, steps_of(task, how, how.recovery));
  prune(copy, {.kind = PruneKind::channels, .flops = 0.5});
  fit_for(copy, task, how, how.recovery);
  Model smaller = strip(copy);
  compile_for(smaller, 1e-3, 1);
  trial.channels = accuracy_of(smaller, task);
  trial.flops = count_flops(smaller) / count_flops(model);
  Batch batch = timed_batch(task);
  trial.predicted_speedup = predict_speedup(model, smaller, batch);
  Comparison both = compare({{"float", model}, {"half", smaller}}, std::vector<Batch>{batch},
                            {.seconds = how.seconds});
  trial.inference_speedup = ratio(both.models[0].inference, both.models[1].inference);
  trial.training_speedup = ratio(both.models[0].training, both.models[1].training);
}

void try_int8(const Model& model, const Task& task, const Training& how, Trial& trial) {
  Quantized made = quantize(model, task.x.slice(0, std::min<int64_t>(512, task.x.shape()[0])));
  compile_for(made.model, 1e-3, 1);
  trial.int8 = accuracy_of(made.model, task);
  Batch batch = timed_batch(task);
  Comparison both = compare({{"float", model}, {"int8", made.model}}, std::vector<Batch>{batch},
                            {.seconds = how.seconds, .training = false});
  trial.int8_speedup = ratio(both.models[0].inference, both.models[1].inference);
  trial.float_ms = 1e3 * both.models[0].inference.seconds;
  trial.int8_ms = 1e3 * both.models[1].inference.seconds;
}

// The widest form with a quarter of the parameters at most.
Model quarter_of(const Model& model) {
  for (double width = 0.5;; width -= 0.05) {
    Model smaller = scale_width(model, width, {.multiple_of = 4}).model;
    if (4 * smaller.count_params() <= model.count_params() || width < 0.1) return smaller;
  }
}

// Both students begin with the same weights.
void try_student(const Model& model, const Task& task, const Training& how, Trial& trial) {
  Model alone = quarter_of(model);
  Model taught = copy_of(alone);
  trial.student_parameters = double(alone.count_params()) / double(model.count_params());
  int64_t steps = steps_of(task, how, how.epochs);
  compile_for(alone, 2e-3, steps);
  fit_for(alone, task, how, how.epochs);
  Distiller distiller(model, taught, {.alpha = 0.1, .temperature = 3});
  compile_for(distiller, 2e-3, steps);
  fit_for(distiller, task, how, how.epochs);
  compile_for(taught, 1e-3, 1);
  trial.student = accuracy_of(alone, task);
  trial.distilled = accuracy_of(taught, task);
}

}  // namespace

Trained trained(const std::string& name, const Task& task, const Training& how) {
  Model begun =
      applications::by_name(name, {.input_shape = task.x.shape().drop_front(), .classes = 10});
  compile_for(begun, 2e-3, steps_of(task, how, how.epochs));
  fit_for(begun, task, how, how.epochs);
  Model model = copy_of(begun);
  compile_for(model, 1e-3, steps_of(task, how, how.recovery));
  fit_for(model, task, how, how.recovery);
  return {begun, model};
}

void write_for_peers(const Model& model, const Task& task, const std::string& folder) {
  export_onnx(model, folder + "/model.onnx");
  save_npy(folder + "/x.npy", task.test_x.slice(0, kTimedBatch));
}

Trial try_out(const Trained& networks, const Task& task, const Training& how) {
  Trial trial;
  trial.accuracy = accuracy_of(networks.model, task);
  try_pruning(networks.begun, task, how, trial);
  try_channels(networks, task, how, trial);
  try_int8(networks.model, task, how, trial);
  try_student(networks.model, task, how, trial);
  return trial;
}

Mean mean_of(const std::vector<double>& values) {
  constexpr std::array kStudent = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
  double count = double(values.size()), sum = 0, squares = 0;
  for (double each : values) sum += each;
  for (double each : values) squares += std::pow(each - sum / count, 2);
  if (values.size() < 2) return {sum / count, 0};
  double factor = kStudent[std::min(values.size() - 2, kStudent.size() - 1)];
  return {sum / count, factor * std::sqrt(squares / (count - 1) / count)};
}

}  // namespace stoker::bench
