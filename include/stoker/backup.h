// BackupAndRestore: a training that survives the end of its process. It saves checkpoints while fit
// runs and, when a fit begins with a directory that holds one, goes on exactly there: the final
// weights and the history are, bit for bit, those of a training that was never stopped.
//
//   model.fit(train, {.epochs = 10, .callbacks = {BackupAndRestore("runs/a/checkpoints")}});
//
// Run the same program again after a crash, a kill or Ctrl-C, and it goes on. A checkpoint holds
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
  Frequency save_freq = "epoch";  // or after every so many steps, and at epochs' ends
  double save_seconds = 0;        // also when so many have passed since the last; 0: never
  int64_t keep = 3;               // the newest so many checkpoints,
  int64_t keep_every_epochs = 0;  // those at the end of every so many epochs (0: none),
  std::string monitor = "";       // and the best of the epochs' ends by this, as "val_loss"
  std::string mode = "auto";      // of the monitor: min, max; auto: max for accuracies and the like
  bool delete_checkpoint = false;  // when the training is over (Keras: true)
  // Go on although something differs from the training that was saved (RunPlan, optimiser, loss,
  // architecture, data, callbacks): what differs is then a note, and what this fit says holds, its
  // learning rate too. False: a DifferentTraining that lists it. More epochs are no difference.
  bool allow_differences = false;
  // SIGINT, SIGTERM and SIGHUP end the fit after its step with a checkpoint and Interrupted, if the
  // program has no handler of its own and does not ignore them. A second one ends the process at
  // once. SIGXFSZ is ignored meanwhile: a file beyond `ulimit -f` is a failed write, not the end.
  bool handle_signals = true;
  // For trials: ends this fit as a signal would, after so many steps.
  std::optional<int64_t> stop_after_steps = {};
};

// A fit that was to go on with a training of other settings. No file was changed.
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
  double stall_seconds = 0;            // that training waited for
  double write_seconds = 0;            // beside the training
};

// The loop itself does the work: only it knows where the data stands. Where the callback stands in
// the list does not matter; there may be one in a fit. Checkpoints are written by a thread of their
// own, from copies of the tensors: training goes on meanwhile. One that falls due while another is
// being written is taken after the first step behind that; only the end of the training and of
// epochs to be kept waits. A checkpoint that cannot be written is said in Context::out, once until
// the reason changes or it works again; the training goes on. On a full disk the oldest checkpoint
// makes room, never the last. A loss that is not finite is never saved.
//
// The directory is locked while the fit runs: another fit there, in any process, is a FileError
// that says who has it. Reading, as latest_checkpoint() does, needs no lock.
class BackupAndRestore : public Callback {
 public:
  // ValueError for options that make no sense. The directory is made if need be; one that cannot be
  // written is a FileError of fit, before its first step.
  explicit BackupAndRestore(std::string directory, BackupOptions options = {});

  const std::string& directory() const { return directory_; }
  const BackupOptions& options() const { return options_; }

  // Of the last fit. The checkpoint that it went on from; empty: it began anew.
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
