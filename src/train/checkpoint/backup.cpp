#include <stoker/backup.h>

#include "train/callbacks/callback_support.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/checkpoint/checkpointer.h"

namespace stoker {

template <>
const Fields<BackupOptions>& callback_fields() {
  using C = BackupOptions;
  static const Fields<C> table = {{"save_seconds", &C::save_seconds, at_least(0)},
                                  {"keep", &C::keep, at_least(1)},
                                  {"keep_every_epochs", &C::keep_every_epochs, at_least(0)},
                                  {"delete_checkpoint", &C::delete_checkpoint},
                                  {"allow_differences", &C::allow_differences},
                                  {"handle_signals", &C::handle_signals},
                                  {"stop_after_steps", &C::stop_after_steps, at_least(1)}};
  return table;
}

BackupAndRestore::BackupAndRestore(std::string directory, BackupOptions options)
    : directory_(std::move(directory)), options_(std::move(options)) {
  if (directory_.empty()) throw ValueError("BackupAndRestore: the directory has no name");
  batches_of(options_.save_freq, "BackupAndRestore", "save_freq");
  callback_fields<BackupOptions>().check("BackupAndRestore", options_);
  rule();  // the mode too
}

KeepRule BackupAndRestore::rule() const {
  Monitor monitor("BackupAndRestore", options_.monitor, options_.mode, 0);
  return {.newest = options_.keep,
          .every_epochs = options_.keep_every_epochs,
          .best = !options_.monitor.empty(),
          .maximise = monitor.improves(1, 0)};
}

BackupAndRestore* backup_of(const FitArgs& args) {
  BackupAndRestore* found = nullptr;
  for (const CallbackRef& callback : args.callbacks)
    if (auto* backup = dynamic_cast<BackupAndRestore*>(&*callback)) {
      if (found != nullptr) throw ValueError("fit: two BackupAndRestore callbacks; give one");
      found = backup;
    }
  return found;
}

int64_t Checkpointer::saved_batch_size(const FitArgs& args) {
  const BackupAndRestore* backup = backup_of(args);
  if (backup == nullptr) return 0;
  return find_newest_checkpoint(backup->directory(),
                                backup->files_ != nullptr ? *backup->files_ : local_files())
      .checkpoint.plan.batch_size;
}

std::optional<std::string> latest_checkpoint(const std::string& directory) {
  FoundCheckpoint found = find_newest_checkpoint(directory);
  return found.path.empty() ? std::nullopt : std::optional(found.path);
}

}  // namespace stoker
