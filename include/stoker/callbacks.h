// Callbacks of fit that end a training, move its learning rate or save its model, by Keras's names.
// callback.h says what a callback is, logging_callbacks.h has those that write, more_callbacks.h the
// rest.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <stoker/callback.h>
#include <stoker/logging_callbacks.h>

namespace stoker {

// A number among the logs that is to become smaller, or larger.
class Monitor {
 public:
  // mode: min, max; auto: max for accuracies, auc, F scores and the like. ValueError, naming the
  // callback, for another mode.
  Monitor(const char* callback, std::string name, const std::string& mode, double min_delta);
  const std::string& name() const { return name_; }
  double worst() const;                                 // what any number is better than
  bool improves(double value, double reference) const;  // by more than min_delta

 private:
  std::string name_;
  double min_delta_;
  bool maximise_;
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0.0;
  int64_t patience = 0;
  std::string mode = "auto";  // min, max; auto: max for accuracies, auc, F scores and the like
  std::optional<double> baseline = {};
  bool restore_best_weights = false;
  int64_t start_from_epoch = 0;
};
// Ends the training when `monitor` has not become better by more than min_delta for `patience`
// epochs.
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});  // ValueError for an unknown mode
  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

  std::optional<int64_t> stopped_epoch() const { return stopped_epoch_; }
  int64_t best_epoch() const { return best_epoch_; }
  double best() const { return best_; }

 private:
  EarlyStoppingOptions options_;
  Monitor monitor_;
  double best_ = 0;
  int64_t best_epoch_ = 0;
  int64_t wait_ = 0;
  std::optional<int64_t> stopped_epoch_;
  std::vector<Tensor> best_weights_;
};

struct LearningRateSchedulerOptions {
  int verbose = 0;  // 1: one line per epoch to Context::out
};
// Sets the learning rate at the beginning of every epoch (from 0), from the epoch alone or from the
// epoch and the rate so far; the history gets "learning_rate".
class LearningRateScheduler : public Callback {
 public:
  using Options = LearningRateSchedulerOptions;
  explicit LearningRateScheduler(std::function<double(int64_t epoch, double lr)> schedule,
                                 Options options = {});
  explicit LearningRateScheduler(std::function<double(int64_t epoch)> schedule,
                                 Options options = {});
  void on_epoch_begin(int64_t epoch) override;
  std::vector<std::pair<std::string, double>> epoch_logs() override;

 private:
  std::function<double(int64_t, double)> schedule_;
  Options options_;
};

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int64_t patience = 10;
  int verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int64_t cooldown = 0;  // epochs after a reduction that do not count
  double min_lr = 0.0;
};
// Multiplies the learning rate by `factor` when `monitor` has not become better for `patience`
// epochs; the history gets "learning_rate".
class ReduceLROnPlateau : public Callback {
 public:
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});
  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  std::vector<std::pair<std::string, double>> epoch_logs() override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  void reduce(int64_t epoch);

  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  double best_ = 0;
  int64_t wait_ = 0, cooldown_ = 0;
};

struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  int verbose = 0;
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";
  Frequency save_freq = "epoch";
  std::optional<double> initial_value_threshold = {};  // save_best_only: what has to be beaten
};
// Saves the model: model.save(), or save_weights(). The path may hold {epoch:02d} (from 1), {batch}
// and the names of logs, {val_loss:.2f}; folders that are missing are made. A file is replaced
// whole, and never by weights that are not finite. A model that cannot be written, or a path, is an
// error before the first step. A disk that does not take it later is a line in Context::out;
// training continues, and the next one is tried.
class ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(std::string filepath, ModelCheckpointOptions options = {});
  void on_train_begin() override;
  void on_epoch_begin(int64_t epoch) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

  const std::string& last_path() const { return last_path_; }  // of the newest file; "": none
  double best() const { return best_; }

 private:
  void save(int64_t batch, const Logs& logs);
  std::string path_for(int64_t batch, const Logs& logs) const;

  std::string filepath_;
  ModelCheckpointOptions options_;
  Monitor monitor_;
  int64_t every_ = 0;  // batches; 0: every epoch
  int64_t epoch_ = 0, batches_ = 0;
  double best_ = 0;
  std::string last_path_;
  std::string trouble_;  // why the last one could not be written; empty: it was
};

// Ends the training when a loss or gradient is not finite, in place of a NonFiniteError. The
// weights are those before the step that failed. Costs nothing while all is well.
class TerminateOnNaN : public Callback {
 public:
  bool on_non_finite(const NonFiniteError& error) override;
};

}  // namespace stoker
