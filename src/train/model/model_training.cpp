// Model: compile and fit, and what the last fit left behind.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <stoker/model.h>
#include <stoker/more_callbacks.h>
#include <stoker/version.h>

#include "train/checkpoint/checkpointer.h"
#include "train/fit/argument_checks.h"
#include "train/fit/auto_batch.h"
#include "train/fit/loops.h"
#include "train/fit/memory_policy.h"
#include "train/fit/model_feeds.h"
#include "train/fit/processes.h"
#include "train/fit/services.h"
#include "train/model/compile.h"
#include "train/step/own_step_graph.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

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

// check_ahead in a fit, which may go on in parts.
void attempt_ahead(ModelBase& model, StepKind kind, const std::vector<Tensor>& columns,
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
  attempt_ahead(model, training_kind(*model.trainer), columns, batch_size, "fit", memory);
  if (validation && validation->arrays())
    attempt_ahead(model, StepKind::test, validation->arrays()->columns(), validation_batch,
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
