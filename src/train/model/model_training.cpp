// Model: compile, fit, evaluate and predict.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <stoker/model.h>
#include <stoker/more_callbacks.h>
#include <stoker/version.h>

#include "train/checkpoint/checkpointer.h"
#include "train/fit/auto_batch.h"
#include "train/fit/loops.h"
#include "train/fit/memory_policy.h"
#include "train/fit/processes.h"
#include "train/fit/services.h"
#include "train/model/compile.h"
#include "train/step/own_step_graph.h"
#include "train/step/steps.h"
#include "train/step/traced_call.h"

namespace stoker {

namespace {

constexpr int64_t kBatchSize = 32;  // Keras's

void check_steps(const std::optional<int64_t>& steps, const char* what) {
  if (steps && *steps < 1)
    throw ValueError(fmt::format("{} is {}, expected at least 1", what, *steps));
}

// Options that only arrays can obey.
void refuse_for_batches(const std::optional<int64_t>& batch_size, const TensorList& sample_weight,
                        const char* action) {
  if (batch_size)
    throw ValueError(
        fmt::format("{}: batch_size is for arrays; these batches have sizes of their own", action));
  if (!sample_weight.empty())
    throw ValueError(fmt::format(
        "{}: sample_weight is for arrays; a batch brings its own as a last tensor", action));
}

void check_validation_freq(const FitArgs& args) {
  const ValidationFreq& freq = args.validation_freq;
  bool validates = args.validation_split > 0 || args.validation_data.defined();
  if (!validates && !freq.every_epoch())
    throw ValueError(
        "fit: validation_freq has no effect without validation; give validation_data or "
        "validation_split");
  if (freq.listed().empty() && freq.every() < 1)
    throw ValueError(fmt::format(
        "fit: validation_freq is {}, expected a number of epochs, at least 1, or a list of epochs",
        freq.every() == 0 ? "an empty list" : std::to_string(freq.every())));
  for (int64_t epoch : freq.listed())
    if (epoch < 1)
      throw ValueError(
          fmt::format("fit: validation_freq lists epoch {}; epochs count from 1", epoch));
}

void check_fit(const FitArgs& args) {
  if (args.epochs < 0 || args.initial_epoch < 0)
    throw ValueError(fmt::format("fit: epochs is {} and initial_epoch {}, expected 0 or more",
                                 args.epochs, args.initial_epoch));
  if (args.initial_epoch > args.epochs)
    throw ValueError(fmt::format(
        "fit: initial_epoch is {}, behind the last of {} epochs; epochs counts from the "
        "first epoch of the training, not from initial_epoch",
        args.initial_epoch, args.epochs));
  check_steps(args.steps_per_epoch, "fit: steps_per_epoch");
  check_steps(args.validation_steps, "fit: validation_steps");
  if (!(args.validation_split >= 0 && args.validation_split < 1))  // NaN too
    throw ValueError(fmt::format("fit: validation_split is {}, expected a number in [0, 1)",
                                 args.validation_split));
  if (args.validation_split > 0 && args.validation_data.defined())
    throw ValueError("fit: give validation_data or validation_split, not both");
  bool validates = args.validation_split > 0 || args.validation_data.defined();
  if (!validates && (args.validation_steps || args.validation_batch_size))
    throw ValueError(fmt::format(
        "fit: {} has no effect without validation; give validation_data or validation_split",
        args.validation_steps ? "validation_steps" : "validation_batch_size"));
  if (args.validation_batch_size && args.validation_data.batches.defined())
    throw ValueError(
        "fit: validation_batch_size is for arrays; the batches of validation_data have sizes of "
        "their own");
  check_validation_freq(args);
}

// The last part of the rows goes to the second list, as in Keras.
std::pair<std::vector<Tensor>, std::vector<Tensor>> split(const std::vector<Tensor>& columns,
                                                          double fraction) {
  int64_t rows = columns[0].shape()[0];
  auto at = int64_t(double(rows) * (1.0 - fraction));
  if (at == 0 || at == rows)
    throw ValueError(fmt::format(
        "fit: validation_split = {} of {} samples leaves {} to train and {} to validate with",
        fraction, rows, at, rows - at));
  std::pair<std::vector<Tensor>, std::vector<Tensor>> parts;
  for (const Tensor& column : columns) {
    parts.first.push_back(column.slice(0, at));
    parts.second.push_back(column.slice(at, rows));
  }
  return parts;
}

// What batches are put together in: pinned memory of a GPU, where the context wants it.
HostMemory* batch_memory(ModelBase& model) {
  const Context& context = *trainer_of(model).context;
  return context.pin ? &engine_of(context).host_memory() : nullptr;
}

// That may put batches of arrays together while a device works beside the host; a CPU needs its
// cores for the steps themselves.
int threads_ahead(ModelBase& model) {
  constexpr int kMost = 4;
  const Context& context = *trainer_of(model).context;
  if (!context.pin || !engine_of(context).host_memory().page_locked()) return 0;
  return context.threads.pipeline > 0 ? std::min(context.threads.pipeline, kMost) : kMost;
}

// Compiles the program of a full batch and looks at all class ids with what it knows, so that an
// error has the element's index in the array, and comes before the first step.
void check_ahead(ModelBase& model, StepKind kind, const std::vector<Tensor>& columns,
                 int64_t batch_size, const char* action) {
  std::vector<TensorSpec> specs = specs_of(columns);
  int64_t rows = std::min(batch_size, columns[0].shape()[0]);
  PartOfBatch of_all(trainer_of(model));
  if (Processes* processes = processes_of(trainer_of(model))) {
    trainer_of(model).rows_of_all = rows;
    rows = processes->slice().end(rows) - processes->slice().begin(rows);
  }
  const PartSizes& parts = trainer_of(model).parts;
  int64_t part = is_training(kind) ? parts.training : parts.evaluation;
  bool whole = part == 0 || part >= rows;
  for (TensorSpec& spec : specs) spec.shape.set(0, whole ? rows : part);
  ProgramLanes::Lease lease = trainer_of(model).lanes.lease_main();
  const CachedProgram& program = whole || !is_training(kind)
                                     ? program_for(model, kind, specs, action)
                                     : program_for(model, StepKind::part, specs, action, rows);
  check_limits(program, columns, action);
}

// The same in a fit, which may go on in parts.
void check_ahead(ModelBase& model, StepKind kind, const std::vector<Tensor>& columns,
                 int64_t batch_size, const char* action, MemoryPolicy& memory) {
  int64_t rows = std::min(batch_size, columns[0].shape()[0]);
  memory.attempt({kind, columns, rows},
                 [&] { check_ahead(model, kind, columns, batch_size, action); });
}

// Of a training that goes on: its own. Else what is measured is the fit's own data.
int64_t chosen_batch(ModelBase& model, const std::vector<Tensor>& columns, const FitArgs& args) {
  if (int64_t saved = Checkpointer::saved_batch_size(args); saved > 0) return saved;
  AutoBatch chosen = measure_batch(model, columns, {.samples = columns[0].shape()[0]});
  const Context& context = *trainer_of(model).context;
  if (context.out != nullptr && args.verbose > 0) *context.out << chosen.text() << std::flush;
  return chosen.batch;
}

// The rows of this process, of a model whose strategy has several.
FeedOptions shared_feed(FeedOptions options, ModelBase& model) {
  Processes* processes = processes_of(trainer_of(model));
  if (processes == nullptr) return options;
  options.slice = processes->slice();
  options.any_rank = [processes](bool mine) { return any_of(*processes, mine); };
  return options;
}

// Of several processes the first one shows and writes; a callback that only does that is its alone.
bool only_writes(const Callback& callback) {
  return dynamic_cast<const CSVLogger*>(&callback) != nullptr ||
         dynamic_cast<const ModelCheckpoint*>(&callback) != nullptr ||
         dynamic_cast<const TensorBoard*>(&callback) != nullptr ||
         dynamic_cast<const RemoteMonitor*>(&callback) != nullptr ||
         dynamic_cast<const ProgbarLogger*>(&callback) != nullptr;
}

FitArgs args_of_process(const FitArgs& args, ModelBase& model) {
  Processes* processes = processes_of(trainer_of(model));
  if (processes == nullptr) return args;
  agree_on_seed(*processes, trainer_of(model));
  if (processes->first()) return args;
  FitArgs own = args;
  own.verbose = 0;
  own.run_directory.clear();
  std::erase_if(own.callbacks, [](const CallbackRef& callback) { return only_writes(*callback); });
  return own;
}

Feed validation_feed(ModelBase& model, const FitArgs& args, int64_t batch_size) {
  FeedOptions options = shared_feed({.action = "fit: validation",
                                     .steps = args.validation_steps,
                                     .context = trainer_of(model).context,
                                     .threads_ahead = threads_ahead(model),
                                     .memory = batch_memory(model)},
                                    model);
  const ValidationData& data = args.validation_data;
  if (data.batches.defined()) return {data.batches, options};
  std::vector<Tensor> columns = make_columns(model, StepKind::test, data.x, data.y,
                                             data.sample_weight, "fit: validation_data");
  return {std::move(columns), batch_size, options};
}

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

bool ValidationFreq::validates(int64_t epoch) const {
  if (every_ > 0) return (epoch + 1) % every_ == 0;
  return std::ranges::find(listed_, epoch + 1) != listed_.end();
}

void Model::compile(const CompileArgs& args) const { compile_model(impl(), args); }
bool Model::compiled() const { return impl().trainer->compiled != nullptr; }

History fit_arrays(const Model& handle, const TensorList& x, const TensorList& y,
                   const FitArgs& given, const FitServices& services) {
  ModelBase& model = ModelAccess::base(handle);
  Use use(model.trainer->gate, "fit", UseMode::lasting);
  compiled_of(model, "fit");
  check_fit(given);
  FitArgs args = args_of_process(given, model);
  check_own_fit(*model.trainer, args);
  bool own = has_own_step(*model.trainer, StepKind::train);
  if (!own) {
    prepare(model, x.list(), "fit");
    check_trainable(model, "fit");
  }
  int64_t batch_size = checked_batch_size(args.batch_size.given(), kBatchSize, "fit");
  std::vector<Tensor> columns =
      make_columns(model, StepKind::train, x, y, args.sample_weight, "fit");
  std::vector<Tensor> held_out;
  if (args.validation_split > 0)
    std::tie(columns, held_out) = split(columns, args.validation_split);
  if (!own) weigh_classes(model, args.class_weight, columns, "fit");
  if (args.batch_size.automatic()) batch_size = chosen_batch(model, columns, args);
  if (Processes* processes = processes_of(*model.trainer))
    batch_size = of_first(*processes, batch_size);
  int64_t validation_batch =
      checked_batch_size(args.validation_batch_size, batch_size, "fit: validation");
  std::optional<Feed> validation;
  if (!held_out.empty())
    validation.emplace(std::move(held_out), validation_batch,
                       shared_feed({.action = "fit: validation",
                                    .steps = args.validation_steps,
                                    .threads_ahead = threads_ahead(model),
                                    .memory = batch_memory(model)},
                                   model));
  else if (args.validation_data.defined())
    validation.emplace(validation_feed(model, args, validation_batch));
  MemoryPolicy memory(model, args);
  check_ahead(model, training_kind(*model.trainer), columns, batch_size, "fit", memory);
  if (validation && validation->arrays())
    check_ahead(model, StepKind::test, validation->arrays()->columns(), validation_batch,
                "fit: validation", memory);
  Feed training(std::move(columns), batch_size,
                shared_feed({.action = "fit",
                             .steps = args.steps_per_epoch,
                             .restart = !args.steps_per_epoch,
                             .epochs = args.epochs,
                             .shuffle = args.shuffle.value_or(true),
                             .seed = derived_seed(model.trainer->seed, kShufflePurpose),
                             .threads_ahead = threads_ahead(model),
                             .memory = batch_memory(model)},
                            model));
  return run_fit(handle, training, validation ? &*validation : nullptr, args, services, memory);
}

History fit_batches(const Model& handle, const Batches& batches, const FitArgs& given,
                    const FitServices& services) {
  ModelBase& model = ModelAccess::base(handle);
  Use use(model.trainer->gate, "fit", UseMode::lasting);
  compiled_of(model, "fit");
  check_fit(given);
  FitArgs args = args_of_process(given, model);
  if (args.batch_size.automatic())
    throw ValueError(
        "fit: batch_size = Auto is for arrays; these batches have sizes of their own: "
        "dataset.batch(auto_batch_size(model, {.samples = …}))");
  check_own_fit(*model.trainer, args);
  refuse_for_batches(args.batch_size.given(), args.sample_weight, "fit");
  if (args.validation_split > 0)
    throw ValueError("fit: validation_split is for arrays; use validation_data");
  if (args.shuffle)
    throw ValueError(
        fmt::format("fit: shuffle = {} is for arrays; batches come in the order of their source "
                    "(Dataset::shuffle)",
                    *args.shuffle));
  int64_t validation_batch =
      checked_batch_size(args.validation_batch_size, kBatchSize, "fit: validation");
  std::optional<Feed> validation;
  if (args.validation_data.defined())
    validation.emplace(validation_feed(model, args, validation_batch));
  MemoryPolicy memory(model, args);
  Feed training(batches, shared_feed({.action = "fit",
                                      .steps = args.steps_per_epoch,
                                      .restart = !args.steps_per_epoch,
                                      .more_follow = true,
                                      .context = model.trainer->context,
                                      .memory = batch_memory(model)},
                                     model));
  return run_fit(handle, training, validation ? &*validation : nullptr, args, services, memory);
}

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

void Model::stop_training() const { trainer_of(impl()).stop = true; }
const History& Model::history() const { return trainer_of(impl()).history; }
Optimizer Model::optimizer() const {
  return compiled() ? impl().trainer->compiled->args.optimizer : Optimizer();
}

namespace {

// What products are computed in: part of a RunPlan, because it changes results.
std::string precision_of(const Context& context) {
  bool tf32 = uses_tf32(context);
  if (compute_dtype_of(context) == DType::float32) return tf32 ? "tf32" : "float32";
  return tf32 || !traits_of(context).tf32 ? context.policy : context.policy + " without tf32";
}

}  // namespace

RunPlan Model::run_plan() const {
  const Trainer& trainer = trainer_of(impl());
  const Context& context = *trainer.context;
  Backend& engine = engine_of(context);
  return {.seed = compiled() ? trainer.seed : context.seed.value(),
          .batch_size = trainer.batch_size,
          .compute_threads = compile_options(context).threads,
          .backend = std::string(engine.name()),
          .fingerprint = engine.fingerprint(),
          .deterministic = context.deterministic,
          .precision = precision_of(context),
          .library_version = version()};
}

}  // namespace stoker
