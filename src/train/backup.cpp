#include <stoker/backup.h>

#include <fmt/format.h>

#include "train/checkpoint_files.h"

namespace stoker {

namespace {

bool grows_when_better(const std::string& monitor, const std::string& mode) {
  if (mode == "max" || mode == "min") return mode == "max";
  if (mode != "auto")
    throw ValueError(
        fmt::format("BackupAndRestore: unknown mode \"{}\"; expected auto, min or max", mode));
  for (const char* word : {"acc", "auc", "precision", "recall"})
    if (monitor.find(word) != std::string::npos) return true;
  return false;
}

void check(const BackupOptions& options) {
  auto fail = [](const std::string& text) { throw ValueError("BackupAndRestore: " + text); };
  const auto* word = std::get_if<std::string>(&options.save_freq);
  const auto* steps = std::get_if<int64_t>(&options.save_freq);
  if (word != nullptr && *word != "epoch")
    fail(fmt::format("save_freq is \"{}\", expected \"epoch\" or a number of steps", *word));
  if (steps != nullptr && *steps < 1)
    fail(fmt::format("save_freq is {} steps, expected at least 1", *steps));
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
  return {.newest = options_.keep,
          .every_epochs = options_.keep_every_epochs,
          .best = !options_.monitor.empty(),
          .maximise = grows_when_better(options_.monitor, options_.mode)};
}

std::optional<std::string> latest_checkpoint(const std::string& directory) {
  FoundCheckpoint found = find_newest_checkpoint(directory);
  return found.path.empty() ? std::nullopt : std::optional(found.path);
}

}  // namespace stoker
