// What a callback of fit, evaluate and predict is; callbacks.h has the ready ones. Derive from Callback and override the methods of
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
  bool validates_some = false;  // some epochs do not validate: FitArgs::validation_freq
  int64_t batch_size = 0;       // 0: the batches decide
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

// An element of a list of callbacks. A named one is referred to, so that it can be read
// afterwards; a temporary is stored.
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

// "epoch", or a number of batches.
using Frequency = std::variant<std::string, int64_t>;

}  // namespace stoker
