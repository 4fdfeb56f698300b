// Callbacks that show or write how a training goes. Part of callbacks.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/callback.h>

namespace stoker {

struct CSVLoggerOptions {
  std::string separator = ",";
  bool append = false;  // keep what the file holds; else it is replaced by the first epoch
};
// One line per epoch: "epoch", then the logs in alphabetical order. Written when the epoch has
// ended. The folder is created if needed; a path that cannot be written is an error before the first
// step. If a later write fails, one line in Context::out says so, and it is retried after each
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
  std::optional<int64_t> keep_;       // a resumed training continues after this many bytes
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
