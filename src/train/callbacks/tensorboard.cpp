// TensorBoard: which numbers go into which event file, and when.
#include <fmt/format.h>
#include <stoker/model.h>

#include "base/clock.h"
#include "base/writable.h"
#include "formats/tensorboard_events.h"
#include "train/callbacks/callback_support.h"
#include "train/callbacks/event_log.h"
#include "train/fit/step_observer.h"
#include "train/model/model_base.h"
#include "train/model/weight_paths.h"

namespace stoker {

namespace {

constexpr const char* kTensorBoard = "TensorBoard";
constexpr const char* kProfileBatch = "TensorBoard: profile_batch";

HParam hparam_of(const std::string& name, const Attr& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return {name, *truth};
  if (const int64_t* whole = std::get_if<int64_t>(&value)) return {name, double(*whole)};
  if (const double* number = std::get_if<double>(&value)) return {name, *number};
  if (const std::string* text = std::get_if<std::string>(&value)) return {name, *text};
  throw ValueError(fmt::format("{}: the hyper-parameter \"{}\" is no number, string or bool",
                               kTensorBoard, name));
}

}  // namespace

struct TensorBoard::Impl {
  TensorBoardOptions options;
  std::vector<HParam> hparams;
  int64_t every = 0;  // batches between scalars; 0: epochs alone
  std::unique_ptr<EventLog> root, training, validation;
  std::unique_ptr<Callback> profiler;          // null: no batches are profiled
  int64_t batches = 0;                         // trained, over all epochs
  int64_t epoch_begin = 0, epoch_batches = 0;  // nanoseconds; `batches` then
  int64_t read_begin = 0, read_batches = 0;    // at the last scalars of a batch
  std::string trouble;                         // of writing, as write_or_say keeps it

  EventLog& log(std::unique_ptr<EventLog>& which, const char* folder) const {
    if (which == nullptr) {
      std::string below = *folder == '\0' ? "" : std::string("/") + folder;
      which = std::make_unique<EventLog>(options.log_dir + below);
    }
    return *which;
  }

  static void scalar(EventLog& log, const std::string& tag, double value, int64_t step) {
    EventTime when{.wall_time = seconds_since_1970(), .step = step};
    log.add([=] { return scalar_event(when, tag, value); });
  }

  void steps_per_second(const char* tag, int64_t step, int64_t begin, int64_t first) {
    double seconds = double(steady_clock().now() - begin) * 1e-9;
    if (options.write_steps_per_second && seconds > 0)
      scalar(log(training, "train"), tag, double(batches - first) / seconds, step);
  }

  // Weights are read here, between steps; counting them is the log's business.
  void histograms(const ModelBase& model, int64_t epoch) {
    EventTime when{.wall_time = seconds_since_1970(), .step = epoch};
    for (const auto& [path, variable] : named_weights(model)) {
      if (variable.dtype() != DType::float32) continue;
      log(training, "train").add([when, tag = path + "/histogram", weights = variable.read()] {
        return histogram_event(when, tag, weights.values<float>());
      });
    }
  }

  // Of the observer of this fit.
  void make_profiler(const Callback& callback) {
    profiler.reset();
    if (options.profile_batch.empty()) return;
    if (const StepObserver* observer = trainer_of(callback).observer)
      profiler = observer->make_profiler(options.log_dir, options.profile_batch, kProfileBatch);
    else
      say(callback, fmt::format("{}: without effect: nothing observes this fit", kProfileBatch));
  }

  // What the doctor saw in this epoch.
  void observations(const StepObserver* observer, int64_t epoch) {
    if (observer == nullptr) return;
    for (const auto& [name, value] : observer->scalars())
      scalar(log(training, "train"), "doctor/" + name, value, epoch);
    std::string limit = observer->limit();
    if (limit.empty()) return;
    EventTime when{.wall_time = seconds_since_1970(), .step = epoch};
    log(training, "train").add([=] { return text_event(when, "doctor/limit", limit); });
  }

  // All of them, whatever becomes of one; then what went wrong is said.
  void each_log(const Callback& callback, void (EventLog::*action)()) {
    write_or_say(callback, kTensorBoard, trouble, [&] {
      std::optional<FileError> failed;
      for (const auto* log : {&root, &training, &validation}) try {
          if (*log != nullptr) ((**log).*action)();
        } catch (const FileError& error) {
          failed = error;
        }
      if (failed) throw FileError(*failed);
    });
  }
};

TensorBoard::TensorBoard(TensorBoardOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->every = batches_of(options.update_freq, kTensorBoard, "update_freq");
  if (options.histogram_freq < 0)
    throw ValueError(fmt::format("{}: histogram_freq is {}, expected 0 or more", kTensorBoard,
                                 options.histogram_freq));
  impl_->hparams.reserve(options.hparams.entries().size());
  for (const auto& [name, value] : options.hparams.entries())
    impl_->hparams.push_back(hparam_of(name, value));
  if (!options.profile_batch.empty()) check_steps(options.profile_batch, kProfileBatch);
  impl_->options = std::move(options);
}
TensorBoard::~TensorBoard() = default;
TensorBoard::TensorBoard(TensorBoard&&) noexcept = default;
TensorBoard& TensorBoard::operator=(TensorBoard&&) noexcept = default;

void TensorBoard::on_train_begin() {
  check_can_write_folder(impl_->options.log_dir);
  impl_->batches = 0;
  impl_->read_batches = 0;
  impl_->read_begin = steady_clock().now();
  impl_->make_profiler(*this);
  if (impl_->profiler) {
    impl_->profiler->set_model(&model());
    impl_->profiler->set_params(params());
    impl_->profiler->on_train_begin();
  }
  if (impl_->hparams.empty()) return;
  EventTime when{.wall_time = seconds_since_1970()};
  impl_->log(impl_->root, "").add([when, hparams = impl_->hparams] {
    return hparams_begin_event(when, hparams);
  });
}

void TensorBoard::on_train_end(const Logs& logs) {
  if (impl_->profiler) impl_->profiler->on_train_end(logs);
  if (!impl_->hparams.empty()) {
    EventTime when{.wall_time = seconds_since_1970()};
    impl_->log(impl_->root, "").add([when] { return hparams_end_event(when, true); });
  }
  impl_->each_log(*this, &EventLog::finish);
  for (auto* log : {&impl_->root, &impl_->training, &impl_->validation}) log->reset();
}

void TensorBoard::on_epoch_begin(int64_t) {
  impl_->epoch_begin = steady_clock().now();
  impl_->epoch_batches = impl_->batches;
}

void TensorBoard::on_train_batch_begin(int64_t batch) {
  if (impl_->profiler) impl_->profiler->on_train_batch_begin(batch);
}

bool TensorBoard::on_non_finite(const NonFiniteError& error) {
  return impl_->profiler != nullptr && impl_->profiler->on_non_finite(error);
}

void TensorBoard::on_train_batch_end(int64_t batch, const Logs& logs) {
  if (impl_->profiler) impl_->profiler->on_train_batch_end(batch, logs);
  ++impl_->batches;
  if (impl_->every == 0 || impl_->batches % impl_->every != 0) return;
  int64_t step = impl_->batches - 1;  // counted from 0, as Keras does
  EventLog& log = impl_->log(impl_->training, "train");
  for (size_t i = 0; i < logs.size(); ++i)
    Impl::scalar(log, "batch_" + logs.names()[i], logs.value(i), step);
  impl_->steps_per_second("batch_steps_per_second", step, impl_->read_begin, impl_->read_batches);
  impl_->read_begin = steady_clock().now();
  impl_->read_batches = impl_->batches;
}

void TensorBoard::on_test_end(const Logs& logs) {
  EventLog& log = impl_->log(impl_->validation, "validation");
  for (size_t i = 0; i < logs.size(); ++i)
    Impl::scalar(log, fmt::format("evaluation_{}_vs_iterations", logs.names()[i]), logs.value(i),
                 impl_->batches);
}

void TensorBoard::on_epoch_end(int64_t epoch, const Logs& logs) {
  if (impl_->profiler) impl_->profiler->on_epoch_end(epoch, logs);
  for (size_t i = 0; i < logs.size(); ++i) {
    const std::string& name = logs.names()[i];
    bool validated = name.starts_with("val_");
    EventLog& log = validated ? impl_->log(impl_->validation, "validation")
                              : impl_->log(impl_->training, "train");
    Impl::scalar(log, "epoch_" + (validated ? name.substr(4) : name), logs.value(i), epoch);
  }
  if (!logs.has("learning_rate"))
    Impl::scalar(impl_->log(impl_->training, "train"), "epoch_learning_rate",
                 model().optimizer().learning_rate(), epoch);
  impl_->steps_per_second("epoch_steps_per_second", epoch, impl_->epoch_begin,
                          impl_->epoch_batches);
  impl_->observations(trainer_of(*this).observer, epoch);
  if (impl_->options.histogram_freq > 0 && epoch % impl_->options.histogram_freq == 0)
    impl_->histograms(ModelAccess::base(model()), epoch);
  impl_->each_log(*this, &EventLog::flush);
}

CallbackState TensorBoard::state() const { return {.values = {{"batches", impl_->batches}}}; }

void TensorBoard::restore(const CallbackState& state) {
  impl_->batches = impl_->read_batches = remembered<int64_t>(state, kTensorBoard, "batches");
  if (impl_->profiler) impl_->profiler->restore({.values = {{"steps", impl_->batches}}});
}

}  // namespace stoker
