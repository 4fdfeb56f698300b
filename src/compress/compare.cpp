#include <stoker/compare.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <stoker/devices.h>
#include <stoker/flops.h>

#include "compress/compared.h"
#include "train/files/saving.h"
#include "train/fit/feed.h"
#include "train/step/steps.h"

namespace stoker {

namespace compress {

const Model* first_compiled(const std::vector<ComparedModel>& models) {
  for (const ComparedModel& each : models)
    if (each.model.compiled()) return &each.model;
  return nullptr;
}

Model view_of(const Model& model, const CompareOptions& options, const Model* settings) {
  Model view(model.inputs(), model.outputs(), {.name = model.base().label()});
  const Model* like = model.compiled() ? &model : settings;
  LossList loss = options.loss;
  std::vector<Metric> metrics = options.metrics;
  if (like != nullptr) {
    const CompileArgs& args = ModelAccess::base(*like).trainer->compiled->args;
    if (loss.list().empty()) loss = args.loss;
    if (metrics.empty()) metrics = args.metrics.list();
  }
  if (!loss.list().empty())
    view.compile({.optimizer = options.optimizer.with_config(options.optimizer.config()),
                  .loss = loss,
                  .metrics = metrics,
                  .context = options.context});
  else if (options.context != nullptr)
    ModelAccess::base(view).trainer->context = options.context;
  return view;
}

namespace {

bool same_rows(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int axis = 1; axis < a.rank(); ++axis)
    if (a[axis] >= 0 && b[axis] >= 0 && a[axis] != b[axis]) return false;
  return true;
}

void check_same_ends(const char* what, const ComparedModel& a, const Values& left,
                     const ComparedModel& b, const Values& right) {
  if (left.size() != right.size())
    throw ShapeError(
        fmt::format("compare: \"{}\" has {} {}s, \"{}\" {}; expected models that do "
                    "the same",
                    a.name, left.size(), what, b.name, right.size()));
  for (size_t i = 0; i < left.size(); ++i)
    if (!same_rows(left[i].shape(), right[i].shape()))
      throw ShapeError(fmt::format(
          "compare: {} {} is {} in \"{}\" and {} in \"{}\"; expected models "
          "that do the same",
          what, i, to_string(left[i].shape()), a.name, to_string(right[i].shape()), b.name));
}

}  // namespace

void check_comparable(const std::vector<ComparedModel>& models) {
  if (models.empty()) throw ValueError("compare: expected at least one model, got none");
  std::set<std::string> names;
  for (const ComparedModel& each : models) {
    if (!names.insert(each.name).second)
      throw ValueError(fmt::format("compare: two models are named \"{}\"", each.name));
    check_same_ends("input", models[0], models[0].model.inputs(), each, each.model.inputs());
    check_same_ends("output", models[0], models[0].model.outputs(), each, each.model.outputs());
  }
}

}  // namespace compress

namespace {

struct View {
  Model model;
  ModelFigures figures;
  ModelBase& base() const { return ModelAccess::base(model); }
};

double zero_share_of(const Model& model) {
  double zeros = 0, all = 0;
  for (const Tensor& weight : model.get_weights()) {
    all += double(weight.elements());
    if (weight.dtype() == DType::float32)
      zeros += double(std::ranges::count(weight.values<float>(), 0.0F));
  }
  return all > 0 ? zeros / all : 0;
}

// Depends on dimensions that only a batch has: 0.
double flops_or_none(const Model& model) {
  try {
    return count_flops(model);
  } catch (const Error&) {
    return 0;
  }
}

int64_t file_bytes_or_none(const Model& model, std::vector<std::string>& notes,
                           const std::string& name) {
  try {
    return int64_t(saved_bytes(model, {.include_optimizer = false}));
  } catch (const ValueError& error) {
    notes.push_back(fmt::format("{}: no file: {}", name, error.what()));
    return 0;
  }
}

View view_for(const ComparedModel& compared, const CompareOptions& options, const Model* settings,
              std::vector<std::string>& notes) {
  const Model& model = compared.model;
  View view{compress::view_of(model, options, settings), {}};
  view.figures = {.name = compared.name,
                  .parameters = model.count_params(),
                  .zero_share = zero_share_of(model),
                  .file_bytes = file_bytes_or_none(view.model, notes, compared.name),
                  .flops = flops_or_none(model),
                  .training_bytes = 0,
                  .inference_bytes = 0,
                  .training = {},
                  .inference = {},
                  .metrics = {},
                  .predicted_speedup = compared.predicted_speedup};
  return view;
}

// Rows of the batch, repeated or cut to the number that is wanted.
std::vector<Tensor> resized(const Batch& batch, std::optional<int64_t> size) {
  std::vector<Tensor> tensors;
  for (const Tensor& each : batch) {
    int64_t rows = each.shape()[0], wanted = size.value_or(rows);
    std::vector<int64_t> indices(static_cast<size_t>(wanted));
    for (int64_t i = 0; i < wanted; ++i) indices[size_t(i)] = i % rows;
    tensors.push_back(each.gather(indices));
  }
  return tensors;
}

std::vector<Tensor> inputs_of(const std::vector<Tensor>& batch, const Model& model) {
  size_t count = model.inputs().size();
  if (batch.size() < count)
    throw ValueError(fmt::format("compare: a batch holds {} tensors, but the models have {} inputs",
                                 batch.size(), count));
  return {batch.begin(), batch.begin() + std::ptrdiff_t(count)};
}

std::vector<Tensor> predicted_by(View& view, const std::vector<Tensor>& inputs) {
  Reading reading(view.base(), "compare");
  Prediction prediction(view.base(), inputs, {.action = "compare"});
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < view.model.outputs().size(); ++i) {
    Tensor output = prediction.output(i);
    outputs.push_back(output.dtype() == DType::float32 ? output : output.cast(DType::float32));
  }
  return outputs;
}

// One walk over the data: metrics, agreement, and the batch that is timed later.
class Evaluation {
 public:
  Evaluation(std::vector<View>& views, const CompareOptions& options)
      : views_(views), options_(options), agreement_(views[0].model, views.size()) {
    for (View& view : views_)
      if (view.model.compiled()) view.model.reset_metrics();
  }

  void run(const Batches& data) {
    Feed feed(data, {.action = "compare", .steps = options_.steps, .context = context()});
    feed.begin_epoch(0);
    while (const Batch* batch = feed.next()) add(*batch);
    for (View& view : views_)
      if (evaluated_ && view.model.compiled()) {
        Logs logs(view.base().trainer->compiled->evaluation);
        for (const std::string& name : logs.names())
          view.figures.metrics.emplace_back(name, logs[name]);
      }
  }

  void write(Comparison& comparison) const {
    comparison.agreement = agreement_.result();
    comparison.agreement_of = agreement_.kind();
    comparison.samples = samples_;
  }
  const std::vector<Tensor>& timed() const { return timed_; }
  bool with_targets() const { return evaluated_; }

 private:
  const Context* context() const { return views_[0].base().trainer->context; }

  void add(const Batch& batch) {
    std::vector<Tensor> inputs = inputs_of(batch.tensors(), views_[0].model);
    evaluated_ = batch.size() >= inputs.size() + views_[0].model.outputs().size();
    if (timed_.empty()) timed_ = resized(batch, options_.batch_size);
    samples_ += batch[0].shape()[0];
    std::vector<std::vector<Tensor>> outputs;
    for (View& view : views_) {
      outputs.push_back(predicted_by(view, inputs));
      if (evaluated_ && view.model.compiled())
        run_test_step(view.base(), batch.tensors(), {.action = "compare"});
    }
    agreement_.add(outputs);
  }

  std::vector<View>& views_;
  const CompareOptions& options_;
  compress::Agreement agreement_;
  std::vector<Tensor> timed_;
  int64_t samples_ = 0;
  bool evaluated_ = false;
};

void time_steps(std::vector<View>& views, const Evaluation& evaluation,
                const CompareOptions& options, std::vector<std::string>& notes) {
  std::vector<compress::TimedStep> all, training;
  for (View& view : views) {
    all.push_back({&view.base(), &view.figures});
    bool trains = view.model.compiled() && !view.model.trainable_variables().empty();
    if (trains) training.push_back(all.back());
    if (!trains && options.training)
      notes.push_back(
          fmt::format("{}: no training steps: {}", view.figures.name,
                      view.model.compiled() ? "none of its weights trains" : "no loss is known"));
  }
  bool train = options.training && evaluation.with_targets() && !training.empty();
  double share = train ? options.seconds / 2 : options.seconds;
  compress::time_inference(all, inputs_of(evaluation.timed(), views[0].model), share);
  if (train) compress::time_training(training, evaluation.timed(), share);
}

void check_compare_options(const CompareOptions& options) {
  if (!(options.seconds >= 0))
    throw ValueError(
        fmt::format("compare: seconds is {}, expected a number of 0 or more", options.seconds));
  if (options.batch_size && *options.batch_size < 1)
    throw ValueError(
        fmt::format("compare: batch_size is {}, expected 1 or more", *options.batch_size));
  if (!options.optimizer.defined()) throw ValueError("compare: no optimizer was given");
}

}  // namespace

Comparison compare(const std::vector<ComparedModel>& models, const Batches& data,
                   const CompareOptions& options) {
  check_compare_options(options);
  compress::check_comparable(models);
  if (!data.defined()) throw ValueError("compare: no data was given");
  Comparison comparison;
  const Model* settings = compress::first_compiled(models);
  std::vector<View> views;
  for (const ComparedModel& each : models)
    views.push_back(view_for(each, options, settings, comparison.notes));
  Evaluation evaluation(views, options);
  evaluation.run(data);
  evaluation.write(comparison);
  time_steps(views, evaluation, options, comparison.notes);
  comparison.batch_size = evaluation.timed()[0].shape()[0];
  comparison.device = std::string(engine_of(*views[0].base().trainer->context).name());
  for (View& view : views) comparison.models.push_back(std::move(view.figures));
  return comparison;
}

}  // namespace stoker
