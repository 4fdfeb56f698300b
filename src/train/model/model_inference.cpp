// Model: evaluate, predict and model(x).
#include <fmt/format.h>
#include <stoker/model.h>

#include "train/fit/argument_checks.h"
#include "train/fit/loops.h"
#include "train/fit/model_feeds.h"
#include "train/model/compile.h"
#include "train/step/steps.h"
#include "train/step/traced_call.h"

namespace stoker {

namespace {

Tensor only(std::vector<Tensor> outputs, const ModelBase& model) {
  if (outputs.size() != 1)
    throw ValueError(fmt::format("{} has {} outputs; take them with predict_all()", model.title(),
                                 outputs.size()));
  return std::move(outputs[0]);
}

// Loss and metrics of all that the feed gives.
Logs evaluated(const Model& model, Feed& feed, const EvaluateArgs& args) {
  ModelBase& base = ModelAccess::base(model);
  std::lock_guard lock(base.trainer->evaluating);
  CallbackCalls callbacks(with_progress(args.callbacks, args.verbose, *base.trainer->context),
                          model);
  callbacks.set_params(
      {.validation_steps = feed.steps(), .batch_size = feed.batch_size(), .verbose = args.verbose});
  run_evaluation(base, feed, callbacks, "evaluate");
  return Logs(base.trainer->compiled->evaluation).snapshot();
}

std::vector<Tensor> predicted(const Model& model, Feed& feed, const PredictArgs& args) {
  ModelBase& base = ModelAccess::base(model);
  CallbackCalls callbacks(with_progress(args.callbacks, args.verbose, *trainer_of(base).context),
                          model);
  callbacks.set_params(
      {.steps = feed.steps(), .batch_size = feed.batch_size(), .verbose = args.verbose});
  return run_predict(base, feed, callbacks);
}

}  // namespace

Logs Model::evaluate(const TensorList& x, const TensorList& y, const EvaluateArgs& args) const {
  ModelBase& model = impl();
  Reading reading(model, "evaluate");
  compiled_of(model, "evaluate");
  check_steps(args.steps, "evaluate: steps");
  int64_t batch_size = checked_batch_size(args.batch_size, kBatchSize, "evaluate");
  std::vector<Tensor> columns =
      make_columns(model, StepKind::test, x, y, args.sample_weight, "evaluate");
  check_ahead(model, StepKind::test, columns, batch_size, "evaluate");
  Feed feed(std::move(columns), batch_size,
            shared_feed({.action = "evaluate",
                         .steps = args.steps,
                         .threads_ahead = threads_ahead(model),
                         .memory = batch_memory(model)},
                        model));
  return evaluated(*this, feed, args);
}

Logs Model::evaluate(const Batches& batches, const EvaluateArgs& args) const {
  ModelBase& model = impl();
  Reading reading(model, "evaluate");
  compiled_of(model, "evaluate");
  check_steps(args.steps, "evaluate: steps");
  refuse_for_batches(args.batch_size, args.sample_weight, "evaluate");
  Feed feed(batches, shared_feed({.action = "evaluate",
                                  .steps = args.steps,
                                  .context = model.trainer->context,
                                  .memory = batch_memory(model)},
                                 model));
  return evaluated(*this, feed, args);
}

std::vector<Tensor> Model::predict_all(const TensorList& x, const PredictArgs& args) const {
  ModelBase& model = impl();
  Reading reading(model, "predict");
  check_steps(args.steps, "predict: steps");
  std::vector<Tensor> columns = make_columns(model, StepKind::predict, x, {}, {}, "predict");
  Feed feed(std::move(columns), checked_batch_size(args.batch_size, kBatchSize, "predict"),
            {.action = "predict",
             .steps = args.steps,
             .threads_ahead = threads_ahead(model),
             .memory = batch_memory(model)});
  return predicted(*this, feed, args);
}

std::vector<Tensor> Model::predict_all(const Batches& batches, const PredictArgs& args) const {
  Reading reading(impl(), "predict");
  check_steps(args.steps, "predict: steps");
  refuse_for_batches(args.batch_size, {}, "predict");
  Feed feed(batches, {.action = "predict",
                      .steps = args.steps,
                      .context = impl().trainer->context,
                      .memory = batch_memory(impl())});
  return predicted(*this, feed, args);
}

Tensor Model::predict(const TensorList& x, const PredictArgs& args) const {
  return only(predict_all(x, args), impl());
}

Tensor Model::predict(const Batches& batches, const PredictArgs& args) const {
  return only(predict_all(batches, args), impl());
}

Tensor Model::predict_on_batch(const TensorList& x) const {
  ModelBase& model = impl();
  Reading reading(model, "predict_on_batch");
  prepare(model, x.list(), "predict_on_batch");
  Prediction prediction(model, x.list(), {.action = "predict_on_batch"});
  if (model.topology("predict").outputs.size() != 1) only({}, model);
  return prediction.output(0);
}

Tensor Model::operator()(const Tensor& x, const CallOptions& options) const {
  bool training = options.training.value_or(false);
  bool masked = !options.mask.empty() && options.mask[0].defined();
  if (!training && !masked) return predict_on_batch(x);
  if (masked && (options.mask.size() > 1 || options.mask[0].constant() == nullptr))
    throw ValueError("model(x): expected one tensor as .mask, which x has beside it");
  prepare(impl(), TensorList(x).list(), "model(x)");
  std::vector<Tensor> outputs = call_traced(
      impl(), x, {.training = training, .mask = masked ? *options.mask[0].constant() : Tensor()});
  return only(std::move(outputs), impl());
}

}  // namespace stoker
