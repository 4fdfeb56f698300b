#include <stoker/backup.h>

#include <fmt/format.h>

#include "train/callbacks/callback_support.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/checkpoint/checkpointer.h"

namespace stoker {

namespace {

void check(const BackupOptions& options) {
  auto fail = [](const std::string& text) { throw ValueError("BackupAndRestore: " + text); };
  batches_of(options.save_freq, "BackupAndRestore", "save_freq");
  if (options.save_seconds < 0) fail(fmt::format("save_seconds is {}", options.save_seconds));
  if (options.keep < 1) fail(fmt::format("keep is {}, expected at least 1", options.keep));
  if (options.keep_every_epochs < 0)
    fail(fmt::format("keep_every_epochs is {}", options.keep_every_epochs));
  if (options.stop_after_steps && *options.stop_after_steps < 1)
    fail(fmt::format("stop_after_steps is {}, expected at least 1", *options.stop_after_steps));
}

}  // namespace

BackupAndRestore::BackupAndRestore(std::string directory, BackupOptions options)
    : directory_(std::move(directory)), options_(std::move(options)) {
  if (directory_.empty()) throw ValueError("BackupAndRestore: the directory has no name");
  check(options_);
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
