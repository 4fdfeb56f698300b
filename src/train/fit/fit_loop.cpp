#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/writable.h"
#include "train/checkpoint/checkpointer.h"
#include "train/checkpoint/run_lock.h"
#include "train/fit/interrupts.h"
#include "train/fit/loops.h"
#include "train/fit/memory_policy.h"
#include "train/fit/processes.h"
#include "train/fit/services.h"
#include "train/model/claimed_weights.h"
#include "train/model/compile.h"
#include "train/model/settings.h"
#include "train/optimizers/optimizer_impl.h"
#include "train/step/own_step_graph.h"
#include "train/step/steps.h"
#include "train/step/target_values.h"

namespace stoker {

namespace {

// Marks the model as training; a fit inside a callback of another would spoil its sums.
class Busy {
 public:
  explicit Busy(Trainer& trainer) : trainer_(trainer) {
    if (trainer.busy) throw Error("fit: this model is being trained by a fit that has not ended");
    trainer.busy = true;
    trainer.stop = false;
  }
  ~Busy() { trainer_.busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Trainer& trainer_;
};

Logs joined(const Logs& first, const Logs& second) {
  std::vector<std::pair<std::string, double>> all;
  for (const Logs* logs : {&first, &second})
    for (size_t i = 0; i < logs->size(); ++i) all.emplace_back(logs->names()[i], logs->value(i));
  return Logs(std::move(all));
}

// What float16 does to a run: in every epoch's logs, and so in its history and progress.
Logs with_loss_scale(const Logs& logs, const Optimizer& optimizer) {
  if (!optimizer.scales_loss()) return logs;
  return joined(logs, Logs({{"loss_scale", optimizer.loss_scale()},
                            {"skipped_steps", double(optimizer.skipped_steps())}}));
}

// What Trainer::rows_of_all is for the batch that the feed gave.
int64_t rows_of_all(const Feed& feed, const Batch& batch, Processes* processes) {
  if (processes == nullptr) return -1;
  if (feed.whole_rows() >= 0) return feed.whole_rows();
  int64_t rows = 0;
  for (int64_t of_one : gathered(*processes, batch[0].shape()[0])) rows += of_one;
  return rows;
}

class FitLoop {
 public:
  FitLoop(const Model& model, Feed& training, Feed* validation, const FitArgs& args,
          const FitServices& services, MemoryPolicy& memory)
      : handle_(model),
        model_(ModelAccess::base(model)),
        trainer_(*model_.trainer),
        compiled_(compiled_of(model_, "fit")),
        training_(training),
        validation_(validation),
        args_(args),
        callbacks_(with_progress(args.callbacks, args.verbose, *trainer_.context), model),
        services_(services),
        memory_(memory),
        processes_(processes_of(trainer_)),
        ends_by_signal_(processes_ != nullptr),
        locks_(services.locks != nullptr ? *services.locks : own_locks_),
        lock_(args.run_directory.empty() ? nullptr
                                         : locks_.lock(args.run_directory, trainer_.context->out)),
        checkpoints_(Checkpointer::of(model, training, validation, args, locks_)) {
    memory_.set_feed(&training);
  }
  ~FitLoop() {
    trainer_.observer = nullptr;
    memory_.set_feed(nullptr);
  }
  FitLoop(const FitLoop&) = delete;
  FitLoop& operator=(const FitLoop&) = delete;

  History run() {
    Busy busy(trainer_);
    if (!args_.run_directory.empty()) check_can_write_folder(args_.run_directory);
    if (has_own_step(trainer_, StepKind::train)) {
      trace_own();
    } else if (!model_.connected()) {
      training_.begin_epoch(args_.initial_epoch);
      prepare(model_, training_.peek()->tensors(), "fit");
    }
    ClaimedWeights claimed(compiled_.trainable);
    live_ = Logs(compiled_.training);
    trainer_.history = {};
    trainer_.history.begin({args_.epochs, training_.steps().value_or(-1), training_.batch_size()});
    trainer_.batch_size = training_.batch_size();
    callbacks_.set_params({.epochs = args_.epochs,
                           .initial_epoch = args_.initial_epoch,
                           .steps = training_.steps(),
                           .validation_steps = validation_ ? validation_->steps() : std::nullopt,
                           .validates_some = !args_.validation_freq.every_epoch(),
                           .batch_size = training_.batch_size(),
                           .verbose = args_.verbose});
    if (services_.observe != nullptr)
      observer_ = services_.observe({.model = model_,
                                     .context = *trainer_.context,
                                     .args = args_,
                                     .training = training_,
                                     .callbacks = callbacks_});
    trainer_.observer = observer_.get();
    say_device();
    try {
      run_epochs();
    } catch (const std::exception& error) {
      if (observer_) observer_->fit_over(error.what());
      tell_others(error);
      throw;
    }
    if (observer_) observer_->fit_over("");
    return trainer_.history;
  }

 private:
  // Before the first step it is known what an own step logs and updates, so that a checkpoint can be
  // restored.
  void trace_own() {
    finish_compile(model_);
    if (!compiled_.own.optimizers.empty()) return;
    training_.begin_epoch(args_.initial_epoch);
    program_for(model_, StepKind::train, training_.peek()->tensors(), "fit");
  }

  // The other processes wait for this one, and would until their deadline. An interrupted fit has ended
  // on all of them.
  void tell_others(const std::exception& error) {
    if (processes_ != nullptr && dynamic_cast<const Interrupted*>(&error) == nullptr)
      processes_->failed(error.what());
  }

  // A device that is not the CPU is named in the first line.
  void say_device() {
    bool said = std::exchange(trainer_.device_said, false);
    if (said || args_.verbose <= 0 || trainer_.context->out == nullptr) return;
    *trainer_.context->out << device_line(*trainer_.context) << std::flush;
  }

  void run_epochs() {
    if (checkpoints_) checkpoints_->find();
    callbacks_(&Callback::on_train_begin);
    Logs logs;
    int64_t epoch = checkpoints_ ? checkpoints_->begin_training(logs) : args_.initial_epoch;
    begin_alike();
    if (observer_) observer_->fit_began();
    for (; epoch < args_.epochs && !trainer_.stop; ++epoch) logs = run_epoch(epoch);
    if (observer_) observer_->fit_ended();
    if (trainer_.distribution) trainer_.distribution->collect_state(StateAt::all_processes);
    if (compiled_.args.train_step.defined()) {
      for (const OwnOptimizer& each : compiled_.own.optimizers)
        if (each.optimizer.use_ema()) each.optimizer.use_averages();
    } else if (compiled_.args.optimizer.use_ema()) {
      compiled_.args.optimizer.use_averages();
    }
    if (processes_ != nullptr) verify_weights(*processes_, handle_, "at the end");
    callbacks_(&Callback::on_train_end, logs);
    if (checkpoints_) checkpoints_->finish();
  }

  // Every process begins with what the first one holds.
  void begin_alike() {
    if (trainer_.distribution == nullptr) return;
    std::vector<Variable> state = compiled_.weights;
    for (const Variable& variable : compiled_.args.optimizer.variables()) state.push_back(variable);
    state.push_back(trainer_.random_state);
    trainer_.distribution->broadcast(state);
  }

  Logs run_epoch(int64_t epoch) {
    RangeScope range("epoch");
    EpochTimes times{.epoch = epoch, .begin = steady_clock().now()};
    callbacks_(&Callback::on_epoch_begin, epoch);
    compiled_.training->reset();
    training_.begin_epoch(epoch);
    times.first_step = steady_clock().now();
    int64_t steps = run_batches(epoch);
    times.last_step = steady_clock().now();
    Logs logs = with_loss_scale(live_.snapshot(), compiled_.args.optimizer);
    watch_loss_scale();
    times.read = times.validated = steady_clock().now();
    trace_span("read loss and metrics", times.last_step, times.read);
    if (validation_ != nullptr && args_.validation_freq.validates(epoch)) {
      TraceScope scope("validation");
      validation_->begin_epoch(0);
      run_evaluation(
          model_, *validation_, callbacks_, "fit: validation",
          [&] {
            if (checkpoints_) checkpoints_->validation_step_ended(epoch, steps);
          },
          &memory_);
      logs = joined(logs, compiled_.evaluation->with_prefix("val_"));
      times.validated = steady_clock().now();
    }
    logs = callbacks_.extended(logs);
    trainer_.history.append(epoch, logs);
    if (observer_)
      if (std::optional<History::Waited> waited = observer_->waited())
        trainer_.history.append(*waited);
    if (trainer_.distribution)
      trainer_.distribution->collect_state(StateAt::first_process);  // files may be written
    callbacks_(&Callback::on_epoch_end, epoch, logs);
    if (processes_ != nullptr) trainer_.stop = any_of(*processes_, trainer_.stop);
    if (checkpoints_) checkpoints_->epoch_ended(epoch, logs);
    times.end = steady_clock().now();
    if (observer_) observer_->epoch_ended(times);
    return logs;
  }

  // How many of the epoch's batches are done.
  int64_t run_batches(int64_t epoch) {
    StepPlace place{
        .action = "fit", .epoch = epoch, .step = checkpoints_ ? checkpoints_->begin_epoch() : 0};
    try {
      run_batches_from(place);
    } catch (const NonFiniteError& error) {
      if (!callbacks_.accept(error)) throw;
      trainer_.stop = true;
    }
    return place.step;
  }

  void run_batches_from(StepPlace& place) {
    PartOfBatch part(trainer_);
    StepTimes times{.epoch = place.epoch, .asked = steady_clock().now()};
    while (!trainer_.stop) {
      if (processes_ != nullptr) processes_->set_place(place.epoch, place.step);
      const Batch* batch = next_batch();
      if (batch == nullptr) break;
      trainer_.rows_of_all = rows_of_all(training_, *batch, processes_);
      if (trainer_.rows_of_all == 0) continue;  // no process has a row of it
      times.ready = steady_clock().now();
      callbacks_.in_step(&Callback::on_train_batch_begin, place.step);
      std::span<const Tensor> inputs = inputs_of(*batch);
      int64_t making = trainer_.programs.making_ns();
      times.run = steady_clock().now();
      memory_.attempt({training_kind(trainer_), inputs, inputs[0].shape()[0]},
                      [&] { run_training_step(model_, inputs, place); });
      times.ran = steady_clock().now();
      times.made = trainer_.programs.making_ns() - making;
      callbacks_.in_step(&Callback::on_train_batch_end, place.step, live_);
      watch_loss_scale();
      times.step = place.step++;
      times.samples = inputs[0].shape()[0];
      if (checkpoints_)
        callbacks_.charge(checkpoints_->backup(),
                          [&] { checkpoints_->step_ended(place.epoch, place.step); });
      if (!checkpoints_ && ends_by_signal_.pending() != 0)
        throw Error(fmt::format("fit: stopped by {}", signal_name(ends_by_signal_.pending())));
      times.end = steady_clock().now();
      if (observer_) observer_->step_ended(times);
      times.asked = steady_clock().now();
      times.looked = times.asked - times.end;
    }
    TraceScope scope("wait for the last steps");
    finish_training_steps(model_, place);
  }

  const Batch* next_batch() {
    RangeScope range("wait for batch");
    return training_.next();
  }

  // Said once a fit, and looked at only where the metrics have just been read: the device is
  // waited for anyway.
  void watch_loss_scale() {
    int64_t reads = compiled_.training->reads();
    if (warned_ || reads == reads_seen_ || trainer_.context->out == nullptr) return;
    reads_seen_ = reads;
    std::string warning = loss_scale_warning(compiled_.args.optimizer);
    if (warning.empty()) return;
    *trainer_.context->out << "\n" << warning << "\n" << std::flush;
    warned_ = true;
  }

  // Arrays bring their weights as a column; other batches get those of their classes here.
  std::span<const Tensor> inputs_of(const Batch& batch) {
    if (training_.arrays() != nullptr) return batch.tensors();
    prepare_batch(model_, StepKind::train, batch, "fit");
    if (args_.class_weight.empty()) return batch.tensors();
    size_t own = model_.topology("fit").inputs.size() + 1;
    if (batch.size() < own) return batch.tensors();  // the step will say what is missing
    if (!class_weights_) class_weights_.emplace(class_weights(model_, args_.class_weight, "fit"));
    Tensor weights = class_weights_->of(batch[own - 1], batch.size() > own ? batch[own] : Tensor());
    trainer_.scratch.assign(batch.begin(), batch.begin() + int64_t(own));
    trainer_.scratch.push_back(std::move(weights));
    return trainer_.scratch;
  }

  Model handle_;
  ModelBase& model_;
  Trainer& trainer_;
  Compiled& compiled_;
  Feed& training_;
  Feed* validation_;
  const FitArgs& args_;
  CallbackCalls callbacks_;
  const FitServices& services_;
  MemoryPolicy& memory_;
  Processes* processes_;       // null: one
  Interrupts ends_by_signal_;  // a launcher ends the ranks of a job with SIGTERM: time to say why
  RunLocks own_locks_;
  RunLocks& locks_;                            // of the job, where there is one
  std::shared_ptr<FolderLock> lock_;           // of the run directory; null: there is none
  std::unique_ptr<Checkpointer> checkpoints_;  // null: none were asked for
  std::unique_ptr<StepObserver> observer_;
  Logs live_;
  std::optional<ClassWeights> class_weights_;
  int64_t reads_seen_ = 0;  // of the training metrics, by watch_loss_scale
  bool warned_ = false;
};

}  // namespace

History run_fit(const Model& model, Feed& training, Feed* validation, const FitArgs& args,
                const FitServices& services, MemoryPolicy& memory) {
  return FitLoop(model, training, validation, args, services, memory).run();
}

void run_evaluation(ModelBase& model, Feed& feed, const CallbackCalls& callbacks,
                    const char* action, const std::function<void()>& step_ended,
                    MemoryPolicy* memory) {
  Compiled& compiled = compiled_of(model, action);
  compiled.evaluation->reset();
  Logs live(compiled.evaluation);
  callbacks(&Callback::on_test_begin);
  StepPlace place{.action = action, .epoch = -1, .step = 0};
  Processes* processes = processes_of(*model.trainer);
  PartOfBatch part(*model.trainer);
  while (const Batch* batch = feed.next()) {
    model.trainer->rows_of_all = rows_of_all(feed, *batch, processes);
    if (model.trainer->rows_of_all == 0) continue;
    callbacks(&Callback::on_test_batch_begin, place.step);
    if (feed.arrays() == nullptr)
      prepare_batch(model, StepKind::test, *batch, action);
    else if (!has_own_step(*model.trainer, StepKind::test))
      prepare(model, batch->tensors(), action);
    auto test = [&] { run_test_step(model, batch->tensors(), place); };
    if (memory != nullptr)
      memory->attempt({StepKind::test, batch->tensors(), (*batch)[0].shape()[0]}, test);
    else
      test();
    callbacks(&Callback::on_test_batch_end, place.step, live);
    ++place.step;
    if (step_ended) step_ended();
  }
  callbacks(&Callback::on_test_end, live);
}

}  // namespace stoker
