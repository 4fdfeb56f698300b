// Callbacks of fit, evaluate and predict. Derive from Callback and override the methods of
// interest; all are called on the training thread.
//
//   struct Printer : Callback {
//     void on_epoch_end(int64_t, const Logs& logs) override { std::printf("%f\n", logs["loss"]); }
//   };
//   Printer printer;
//   model.fit(x, y, {.callbacks = {printer, EarlyStopping({.patience = 3})}});
#pragma once

#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/error.h>
#include <stoker/history.h>
#include <stoker/tensor.h>

namespace stoker {

class Model;

// The state of a callback, for checkpoints. Data only.
struct CallbackState {
  Attrs values = {};
  std::vector<std::pair<std::string, Tensor>> tensors = {};
};

// What a fit was asked to do, for callbacks that show or write it.
struct FitParams {
  int64_t epochs = 0, initial_epoch = 0;
  std::optional<int64_t> steps = {};  // in an epoch, where that is known
  std::optional<int64_t> validation_steps = {};
  int64_t batch_size = 0;  // 0: the batches decide
  int verbose = 0;
};

class Callback {
 public:
  virtual ~Callback() = default;

  virtual void on_train_begin() {}
  virtual void on_train_end(const Logs& logs) { (void)logs; }
  virtual void on_epoch_begin(int64_t epoch) { (void)epoch; }
  // With the validation's results as "val_loss", … in the epochs that validate.
  virtual void on_epoch_end(int64_t epoch, const Logs& logs) { (void)epoch, (void)logs; }
  virtual void on_train_batch_begin(int64_t batch) { (void)batch; }
  // Logs are read on access: a callback that does not read them costs no synchronisation.
  virtual void on_train_batch_end(int64_t batch, const Logs& logs) { (void)batch, (void)logs; }
  virtual void on_test_begin() {}
  virtual void on_test_end(const Logs& logs) { (void)logs; }
  virtual void on_test_batch_begin(int64_t batch) { (void)batch; }
  virtual void on_test_batch_end(int64_t batch, const Logs& logs) { (void)batch, (void)logs; }
  virtual void on_predict_begin() {}
  virtual void on_predict_end() {}
  virtual void on_predict_batch_begin(int64_t batch) { (void)batch; }
  virtual void on_predict_batch_end(int64_t batch) { (void)batch; }

  // Numbers of its own for the logs and the history of the epoch that ends; asked before
  // on_epoch_end.
  virtual std::vector<std::pair<std::string, double>> epoch_logs() { return {}; }
  // A step's loss or gradient was not finite; the weights are those before it. True: end the
  // training here as stop_training() does, instead of with this error.
  virtual bool on_non_finite(const NonFiniteError& error) { return (void)error, false; }

  // What a checkpoint has to keep of this callback, so that a training that goes on from there
  // takes the same turns; taken between steps.
  virtual CallbackState state() const { return {}; }
  // What state() gave, called after on_train_begin; ValueError for what cannot be this callback's.
  virtual void restore(const CallbackState& state) { (void)state; }

  // The model that calls; Error outside of a call.
  Model& model() const;
  bool has_model() const { return model_ != nullptr; }
  void set_model(Model* model) { model_ = model; }
  // Of the fit that calls; the last one's afterwards.
  const FitParams& params() const { return params_; }
  void set_params(const FitParams& params) { params_ = params; }

 private:
  Model* model_ = nullptr;
  FitParams params_;
};

template <class C>
concept TemporaryCallback = std::is_base_of_v<Callback, C>;  // C is a reference for a named one

// An element of a list of callbacks. A named one is referred to, so that it can be asked
// afterwards; a temporary is kept.
class CallbackRef {
 public:
  CallbackRef(std::shared_ptr<Callback> callback) : callback_(std::move(callback)) {}
  template <std::derived_from<Callback> C>
  CallbackRef(C& callback) : callback_(std::shared_ptr<void>(), &callback) {}
  template <TemporaryCallback C>
  CallbackRef(C&& callback) : callback_(std::make_shared<C>(std::move(callback))) {}  // NOLINT

  Callback& operator*() const { return *callback_; }
  Callback* operator->() const { return callback_.get(); }

 private:
  std::shared_ptr<Callback> callback_;
};

struct LambdaCallbackOptions {
  std::function<void(int64_t epoch)> on_epoch_begin = {};
  std::function<void(int64_t epoch, const Logs& logs)> on_epoch_end = {};
  std::function<void()> on_train_begin = {};
  std::function<void(const Logs& logs)> on_train_end = {};
  std::function<void(int64_t batch)> on_train_batch_begin = {};
  std::function<void(int64_t batch, const Logs& logs)> on_train_batch_end = {};
  std::function<void()> on_test_begin = {};
  std::function<void(const Logs& logs)> on_test_end = {};
  std::function<void(int64_t batch)> on_test_batch_begin = {};
  std::function<void(int64_t batch, const Logs& logs)> on_test_batch_end = {};
  std::function<void()> on_predict_begin = {};
  std::function<void()> on_predict_end = {};
  std::function<void(int64_t batch)> on_predict_batch_begin = {};
  std::function<void(int64_t batch)> on_predict_batch_end = {};
};
class LambdaCallback : public Callback {
 public:
  explicit LambdaCallback(LambdaCallbackOptions options) : options_(std::move(options)) {}
  void on_train_begin() override;
  void on_train_end(const Logs& logs) override;
  void on_epoch_begin(int64_t epoch) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_batch_begin(int64_t batch) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  void on_test_begin() override;
  void on_test_end(const Logs& logs) override;
  void on_test_batch_begin(int64_t batch) override;
  void on_test_batch_end(int64_t batch, const Logs& logs) override;
  void on_predict_begin() override;
  void on_predict_end() override;
  void on_predict_batch_begin(int64_t batch) override;
  void on_predict_batch_end(int64_t batch) override;

 private:
  LambdaCallbackOptions options_;
};

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

// "epoch", or every so many batches.
using Frequency = std::variant<std::string, int64_t>;

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
// training goes on, and the next one is tried.
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

struct CSVLoggerOptions {
  std::string separator = ",";
  bool append = false;  // keep what the file holds; else it is replaced by the first epoch
};
// One line per epoch: "epoch", then the logs in alphabetical order. Written when the epoch has
// ended. The folder is made if need be; a path that cannot be written is an error before the first
// step. Lines that the disk does not take later are said, kept and tried again after the next
// epoch.
class CSVLogger : public Callback {
 public:
  explicit CSVLogger(std::string filename, CSVLoggerOptions options = {});
  void on_train_begin() override;
  void on_train_end(const Logs& logs) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  void begin_file();
  void write_pending();
  void append_pending();

  std::string filename_;
  CSVLoggerOptions options_;
  std::vector<std::string> columns_;  // of the open file
  int64_t bytes_ = 0;                 // written by the training so far
  std::optional<int64_t> keep_;       // a restored training goes on behind so many bytes
  std::string pending_;               // lines that are not in the file yet
  std::string trouble_;               // why; empty: nothing is wrong
  bool begun_ = false;
  bool torn_ = false;  // behind bytes_ the file may hold a part of a line
};

// What fit shows with verbose = 1 or 2, and adds by itself: a bar on a terminal, one line per epoch
// elsewhere. Reads the device a few times per second at most. Put one into the list to choose its
// place among the callbacks.
class ProgbarLogger : public Callback {
 public:
  ProgbarLogger();
  ~ProgbarLogger() override;
  ProgbarLogger(ProgbarLogger&&) noexcept;
  ProgbarLogger& operator=(ProgbarLogger&&) noexcept;
  void on_train_begin() override;
  void on_train_end(const Logs& logs) override;
  void on_epoch_begin(int64_t epoch) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  void on_test_begin() override;
  void on_test_end(const Logs& logs) override;
  void on_test_batch_end(int64_t batch, const Logs& logs) override;
  void on_predict_begin() override;
  void on_predict_end() override;
  void on_predict_batch_end(int64_t batch) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Batches of a fit, counted over all its epochs from 1; both ends are among them. {}: none.
struct StepRange {
  int64_t first = 0, last = 0;
  StepRange() = default;
  StepRange(int64_t only) : StepRange(only, only) {}
  StepRange(int64_t begin, int64_t end) : first(begin), last(end) {}
  bool empty() const { return first == 0 && last == 0; }
};

struct TensorBoardOptions {
  std::string log_dir = "logs";
  int64_t histogram_freq = 0;  // epochs between histograms of the weights; 0: none
  bool write_steps_per_second = false;
  Frequency update_freq = "epoch";  // or "batch", or every so many batches: loss and metrics
  Attrs hparams = {};               // numbers, strings and bools for the HParams page
  StepRange profile_batch = {};     // 10, or {10, 20}: these batches for the Profile page
};
// Event files that TensorBoard reads: log_dir/train and log_dir/validation. A background thread
// writes them from a bounded queue, so that steps never wait for the disk. Every epoch also gets
// what the doctor measured: doctor/step_milliseconds, doctor/share_input, …
class TensorBoard : public Callback {
 public:
  explicit TensorBoard(TensorBoardOptions options = {});
  ~TensorBoard() override;
  TensorBoard(TensorBoard&&) noexcept;
  TensorBoard& operator=(TensorBoard&&) noexcept;
  void on_train_begin() override;
  void on_train_end(const Logs& logs) override;
  void on_epoch_begin(int64_t epoch) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_batch_begin(int64_t batch) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  void on_test_end(const Logs& logs) override;
  bool on_non_finite(const NonFiniteError& error) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stoker
