// Callbacks for moving averages, for a server that watches, and for several callbacks as one. callbacks.h
// says what a callback is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <stoker/callbacks.h>

namespace stoker {

struct SwapEMAWeightsOptions {
  bool swap_on_epoch = false;  // the averages are the weights from an epoch's end to the next one
};
// Puts the optimiser's moving averages (use_ema) in place of the weights while the model is
// evaluated or predicts, and for callbacks behind it at the end of an epoch. ValueError where the
// optimiser keeps none.
class SwapEMAWeights : public Callback {
 public:
  explicit SwapEMAWeights(SwapEMAWeightsOptions options = {}) : options_(options) {}
  void on_train_begin() override;
  void on_epoch_begin(int64_t epoch) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_test_begin() override;
  void on_test_end(const Logs& logs) override;
  void on_predict_begin() override;
  void on_predict_end() override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  void use_averages(bool in_use);
  SwapEMAWeightsOptions options_;
  bool in_use_ = false;
};

struct RemoteMonitorOptions {
  std::string root = "http://localhost:9000";  // http only
  std::string path = "/publish/epoch/end/";
  std::string field = "data";  // of the form that holds the JSON text
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool send_as_json = false;  // the JSON is the body, in place of a form
  double timeout_seconds = 5.0;
};
// Posts the epoch and its logs as JSON to a server when an epoch ends. A server that cannot be
// reached is a line in Context::out, once; training continues.
class RemoteMonitor : public Callback {
 public:
  explicit RemoteMonitor(RemoteMonitorOptions options = {});  // ValueError for another protocol
  void on_epoch_end(int64_t epoch, const Logs& logs) override;

 private:
  RemoteMonitorOptions options_;
  bool said_ = false;
};

// Several callbacks as one, called in their order: for own loops, and for a set that is used often.
class CallbackList : public Callback {
 public:
  explicit CallbackList(std::vector<CallbackRef> callbacks) : callbacks_(std::move(callbacks)) {}
  void append(CallbackRef callback) { callbacks_.push_back(std::move(callback)); }
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
  std::vector<std::pair<std::string, double>> epoch_logs() override;
  bool on_non_finite(const NonFiniteError& error) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  template <class... Types, class... Args>
  void each(void (Callback::*method)(Types...), const Args&... args);
  std::vector<CallbackRef> callbacks_;
};

}  // namespace stoker
