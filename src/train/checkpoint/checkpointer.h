// What BackupAndRestore asks of a fit: finds the checkpoint to go on from, puts the training there,
// and takes checkpoints between steps. The fit loop calls it at its turns, on its own thread.
//
// Of several processes the first one finds, reads and writes; the others get what it read, prove that
// they hold the same weights before anything is written, and end when it ends. What only one of them
// can know (a signal, that a checkpoint is due by the clock) is exchanged every half a second.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <stoker/backup.h>

#include "train/checkpoint/checkpoint_writer.h"
#include "train/checkpoint/run_lock.h"
#include "train/fit/interrupts.h"
#include "train/fit/loops.h"
#include "train/fit/processes.h"

namespace stoker {

// The one among the callbacks, or null; ValueError with two.
BackupAndRestore* backup_of(const FitArgs& args);

class Checkpointer {
 public:
  // Null without a BackupAndRestore among the callbacks. Locks its directory. `validation` may be null.
  static std::unique_ptr<Checkpointer> of(const Model& model, Feed& training,
                                          const Feed* validation, const FitArgs& args,
                                          RunLocks& locks);
  Checkpointer(const Model& model, Feed& training, const Feed* validation, const FitArgs& args,
               BackupAndRestore& backup, RunLocks& locks);
  // Of the newest checkpoint that the fit would go on from; 0: there is none.
  static int64_t saved_batch_size(const FitArgs& args);
  ~Checkpointer();  // waits for what is being written
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  const Callback& backup() const { return backup_; }
  // Before on_train_begin, with a model that knows its input: looks for a checkpoint, obeys its
  // RunPlan and puts the model and its history where they were. Error when something differs.
  void find();
  // After on_train_begin. The first epoch to run; `logs`: of the one before.
  int64_t begin_training(Logs& logs);
  // After on_epoch_begin and all else that an epoch begins with: how many of its steps are done.
  int64_t begin_epoch();
  // After the callbacks' turns. Interrupted when the fit was asked to end, after saving.
  void step_ended(int64_t epoch, int64_t steps);
  // In the validation of an epoch, whose steps are all done: it is made again when the fit goes on.
  void validation_step_ended(int64_t epoch, int64_t steps);
  void epoch_ended(int64_t epoch, const Logs& logs);
  // After on_train_end.
  void finish();

 private:
  // Steps of an epoch that are done; 0: the epoch before has ended, with these logs.
  struct Place {
    int64_t epoch = 0, step = 0;
    Logs logs = {};
  };

  FileSystem& files() const;
  std::vector<CallbackRef> other_callbacks() const;  // what a checkpoint keeps: all but its maker
  static std::string place_of(int64_t epoch, int64_t step);

  void obey(const RunPlan& plan);
  std::map<std::string, std::string> library_plans() const;
  void take_library_plans();
  void check_can_write() const;
  void check_differences();
  std::vector<std::string> different_settings(std::vector<std::string>& following);
  void restore_model(const Checkpoint& checkpoint);
  void restore_all();
  void restore_feed(FeedState state);

  bool first() const { return processes_ == nullptr || processes_->first(); }
  FoundCheckpoint find_newest();
  void look_around(const Place& place);
  void agree(const Place& place);
  bool first_says(bool mine);  // collective; only the first process has a writer at work

  bool is_due() const;
  bool is_due_by_steps() const;
  bool is_saved(const Place& place) const;
  std::optional<double> monitored(const Place& place) const;
  void save(const Place& place);
  void save_own(const Place& place);
  Checkpoint snapshot(const Place& place);
  void take(const std::optional<CheckpointWriter::Written>& written);
  void end_if_asked(const Place& place);
  [[noreturn]] void end(const Place& place, int signal);
  std::string save_elsewhere(const Place& place);
  void note(const std::string& line);  // and says it

  Model handle_;
  ModelBase& model_;
  Trainer& trainer_;
  Feed& training_;
  const Feed* validation_;
  const FitArgs& args_;
  BackupAndRestore& backup_;
  Processes* processes_;  // null: one

  std::shared_ptr<FolderLock> lock_;  // null: the directory cannot be written
  RunSettings settings_;
  std::optional<double> own_rate_;                   // instead of the checkpoint's
  std::optional<Checkpoint> found_;                  // until everything is restored
  std::optional<std::pair<int64_t, int64_t>> last_;  // epoch and step of the last checkpoint
  std::string newest_;                               // its path, once it is there
  std::string failure_;                              // why the last one is not there
  int64_t steps_ = 0;                                // of this fit
  int64_t since_steps_ = 0;                          // since the last checkpoint
  int64_t since_ns_ = 0;
  int64_t steps_to_look_ = 1, looked_ns_ = 0, looked_steps_ = 0;
  bool postponed_ = false;  // one fell due while another was being written
  Interrupts interrupts_;
  CheckpointWriter writer_;
};

}  // namespace stoker
