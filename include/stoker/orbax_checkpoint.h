// Checkpoints by number, written beside the training: Keras's OrbaxCheckpoint, in Stoker's own files.
// callbacks.h says what a callback is.
//
//   OrbaxCheckpoint checkpoint("runs/a", {.monitor = "val_accuracy", .save_best_only = true});
//   model.fit(train, {.epochs = 10, .callbacks = {checkpoint}});
//   Model best = load_model(checkpoint.last_path());
//
// To continue a training bit by bit as if it had never stopped, use BackupAndRestore (backup.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <stoker/callbacks.h>

namespace stoker {

struct OrbaxCheckpointOptions {
  std::string monitor = "val_loss";
  int verbose = 0;
  bool save_best_only = false;
  std::string mode = "auto";
  Frequency save_freq = "epoch";                       // or a number of batches
  std::optional<double> initial_value_threshold = {};  // save_best_only: what has to be beaten
  std::optional<int64_t> max_to_keep = 1;              // of the newest; {}: all
  bool save_on_background = true;                      // false: training waits for the disk
  bool save_weights_only = false;
};
// Writes DIRECTORY/N.stoker, where N is the epoch (from 0), or the number of batches that were trained
// where save_freq is one. load_model() and load_weights() read it; with save_weights_only, the latter
// alone. A file is there whole or not at all, and never with weights that are not finite. Of the files
// N.stoker in the directory, those with the largest numbers are kept. At the end of the training all
// are written. A model or directory that cannot be written is an error before the first step; a disk
// that fails later is one line in Context::out, and training continues.
class OrbaxCheckpoint : public Callback {
 public:
  explicit OrbaxCheckpoint(std::string directory, OrbaxCheckpointOptions options = {});
  OrbaxCheckpoint(OrbaxCheckpoint&&) noexcept;
  ~OrbaxCheckpoint() override;  // waits for what is being written

  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

  // Returns when everything that was begun is on the disk.
  void wait_until_finished();
  const std::string& last_path() const { return last_path_; }  // of the newest file; "": none
  double best() const { return best_; }

 private:
  class Writer;
  void save(int64_t number, const Logs& logs);
  void finish();

  std::string directory_;
  OrbaxCheckpointOptions options_;
  Monitor monitor_;
  int64_t every_ = 0;  // batches; 0: every epoch
  int64_t batches_ = 0;
  double best_ = 0;
  std::string last_path_;
  std::string trouble_;  // why the last one could not be written; empty: it was
  std::unique_ptr<Writer> writer_;
};

}  // namespace stoker
