// BackupAndRestore: exact resume. It saves checkpoints while fit runs. A later fit with the same
// directory continues from the newest one: the final weights and the history are, bit for bit, those
// of a training that was never stopped.
//
//   model.fit(train, {.epochs = 10, .callbacks = {BackupAndRestore("runs/a/checkpoints")}});
//
// After a crash, a kill or Ctrl-C, run the same program again. A checkpoint holds
// weights, optimiser, random state, sums of the metrics, place in the data, the other callbacks'
// states, the history and the RunPlan: docs/formats/checkpoint.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stoker/callbacks.h>

namespace stoker {

class FileSystem;
struct KeepRule;

struct BackupOptions {
  Frequency save_freq = "epoch";  // or a number of steps; epochs' ends are always saved
  double save_seconds = 0;        // also when this time has passed since the last; 0: never
  int64_t keep = 3;               // how many of the newest checkpoints to keep;
  int64_t keep_every_epochs = 0;  // also keeps one in this many epochs; 0: none
  std::string monitor = "";       // also keeps the best epoch by this: "val_loss"
  std::string mode = "auto";      // of the monitor: min, max; auto: max for accuracies and the like
  bool delete_checkpoint = false;  // when the training is over (Keras: true)
  // Resume although settings differ from the saved training (RunPlan, optimiser, loss, architecture,
  // data, callbacks): differences become notes, and the settings of this fit apply, including its
  // learning rate. False: DifferentTraining lists them. More epochs are no difference.
  bool allow_differences = false;
  // SIGINT, SIGTERM and SIGHUP end the fit after its step with a checkpoint and Interrupted, if the
  // program has no handler of its own and does not ignore them. A second one ends the process at
  // once. SIGXFSZ is ignored meanwhile: a file beyond `ulimit -f` is a failed write, not the end.
  bool handle_signals = true;
  // For tests: ends this fit after this many steps, as a signal would.
  std::optional<int64_t> stop_after_steps = {};
};

// The checkpoint belongs to a training with other settings. No file was changed.
class DifferentTraining : public ValueError {
 public:
  DifferentTraining(const std::string& differences, const std::string& advice)
      : ValueError(differences + advice), differences_(differences) {}
  const std::string& differences() const { return differences_; }  // the text without the advice

 private:
  std::string differences_;
};

// What the checkpoints of a fit cost.
struct BackupCosts {
  int64_t saved = 0, passed_over = 0;  // the latter: the one before was still being written
  uint64_t bytes = 0;                  // written
  double stall_seconds = 0;            // that training was blocked
  double write_seconds = 0;            // in the background
};

// At most one per fit, anywhere in the list of callbacks. A background thread writes checkpoints from
// copies of the tensors while training continues. If one is due while another is being written, it is
// taken after the first step that follows; only the end of the training and epochs that must be kept
// wait. If a checkpoint cannot be written, training continues and Context::out gets one line, again
// when the reason changes or writing works again. On a full disk the oldest checkpoints are deleted,
// never the last one. A checkpoint never holds a loss that is not finite.
//
// The directory is locked while the fit runs: another fit there, in any process, is a FileError
// that names the process. Reading, as latest_checkpoint() does, needs no lock.
class BackupAndRestore : public Callback {
 public:
  // ValueError for options that make no sense. The directory is created if needed; one that cannot be
  // written is a FileError of fit, before its first step.
  explicit BackupAndRestore(std::string directory, BackupOptions options = {});

  const std::string& directory() const { return directory_; }
  const BackupOptions& options() const { return options_; }

  // The checkpoint that the last fit resumed from; empty: it started from scratch.
  const std::string& resumed_from() const { return resumed_from_; }
  // What was wrong with checkpoints, one line each: damaged, not written, different.
  const std::vector<std::string>& notes() const { return notes_; }
  const BackupCosts& costs() const { return costs_; }

  // For tests: the files to work with; they must outlive the fits.
  void use_files(FileSystem* files) { files_ = files; }

 private:
  friend class Checkpointer;
  KeepRule rule() const;

  std::string directory_;
  BackupOptions options_;
  std::string resumed_from_;
  std::vector<std::string> notes_;
  BackupCosts costs_;
  FileSystem* files_ = nullptr;
};

// The path of the newest complete checkpoint in a directory; nothing where there is none. Files are
// verified. FileError when there are checkpoints and all are damaged.
std::optional<std::string> latest_checkpoint(const std::string& directory);

}  // namespace stoker
