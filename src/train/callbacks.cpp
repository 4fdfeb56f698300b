#include <stoker/callbacks.h>

#include <cmath>

#include <fmt/format.h>
#include <stoker/model.h>

namespace stoker {

Model& Callback::model() const {
  if (model_ == nullptr) throw Error("Callback::model(): no model is calling now");
  return *model_;
}

void LambdaCallback::on_train_begin() {
  if (options_.on_train_begin) options_.on_train_begin();
}
void LambdaCallback::on_train_end(const Logs& logs) {
  if (options_.on_train_end) options_.on_train_end(logs);
}
void LambdaCallback::on_epoch_begin(int64_t epoch) {
  if (options_.on_epoch_begin) options_.on_epoch_begin(epoch);
}
void LambdaCallback::on_epoch_end(int64_t epoch, const Logs& logs) {
  if (options_.on_epoch_end) options_.on_epoch_end(epoch, logs);
}
void LambdaCallback::on_train_batch_begin(int64_t batch) {
  if (options_.on_train_batch_begin) options_.on_train_batch_begin(batch);
}
void LambdaCallback::on_train_batch_end(int64_t batch, const Logs& logs) {
  if (options_.on_train_batch_end) options_.on_train_batch_end(batch, logs);
}

namespace {

bool grows_when_better(const EarlyStoppingOptions& options) {
  if (options.mode == "max") return true;
  if (options.mode == "min") return false;
  if (options.mode != "auto")
    throw ValueError(
        fmt::format("EarlyStopping: unknown mode \"{}\"; expected auto, min or max", options.mode));
  for (const char* word : {"acc", "auc", "precision", "recall"})
    if (options.monitor.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : options_(std::move(options)), maximise_(grows_when_better(options_)) {
  if (options_.patience < 0 || options_.min_delta < 0)
    throw ValueError(
        fmt::format("EarlyStopping: patience is {} and min_delta {}, expected 0 or more",
                    options_.patience, options_.min_delta));
}

void EarlyStopping::on_train_begin() {
  wait_ = 0;
  best_ = maximise_ ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  best_epoch_ = 0;
  stopped_epoch_.reset();
  best_weights_.clear();
}

bool EarlyStopping::improves(double value, double reference) const {
  return maximise_ ? value - options_.min_delta > reference
                   : value + options_.min_delta < reference;
}

void EarlyStopping::on_epoch_end(int64_t epoch, const Logs& logs) {
  double value = logs[options_.monitor];
  if (epoch < options_.start_from_epoch) return;
  if (options_.restore_best_weights && best_weights_.empty()) best_weights_ = model().get_weights();
  ++wait_;
  if (improves(value, best_)) {
    best_ = value;
    best_epoch_ = epoch;
    if (options_.restore_best_weights) best_weights_ = model().get_weights();
    if (!options_.baseline || improves(value, *options_.baseline)) wait_ = 0;
    return;
  }
  if (wait_ >= options_.patience && epoch > 0) {
    stopped_epoch_ = epoch;
    model().stop_training();
  }
}

void EarlyStopping::on_train_end(const Logs&) {
  if (options_.restore_best_weights && !best_weights_.empty()) model().set_weights(best_weights_);
  best_weights_.clear();
}

}  // namespace stoker
