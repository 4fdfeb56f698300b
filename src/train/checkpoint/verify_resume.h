// Proof, on a user's own training, that stopping and going on changes nothing: once undisturbed,
// once stopped and gone on with, compared bit for bit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <stoker/history.h>

namespace stoker {

// What came out of a training.
struct TrainingResult {
  std::string weights_sha256 = {};  // train/model/weights_hash.h
  History history = {};
};

// Trains from scratch, or from what `directory` holds, with a new model and
// BackupAndRestore(directory + …, {.stop_after_steps = stop_after_steps}): Interrupted when it was
// stopped, the result when it came to its end. It may do so in another process.
using ResumableTraining = std::function<TrainingResult(const std::string& directory,
                                                       std::optional<int64_t> stop_after_steps)>;

struct VerifyResumeOptions {
  std::string directory = {};         // two new folders are made in it: undisturbed and resumed
  std::vector<int64_t> stops = {10};  // steps after which each of the first runs is stopped
};

struct ResumeReport {
  TrainingResult undisturbed = {}, resumed = {};
  int64_t stops = 0;  // that were made; fewer when the training ended before
  std::vector<std::string> differences = {};  // one line each
  bool same() const { return differences.empty() && stops > 0; }
};

// FileError when one of the two folders is there already; what `train` throws beside Interrupted.
ResumeReport verify_resume(const ResumableTraining& train, const VerifyResumeOptions& options);
std::string to_string(const ResumeReport& report);  // for people, some lines

}  // namespace stoker
