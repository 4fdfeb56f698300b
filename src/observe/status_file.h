// status.json in a run's folder: how a fit stands, replaced about once a second and at its end.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <stoker/doctor.h>

namespace stoker::doctor {

enum class FitState : uint8_t { training, finished, failed };

struct FitProgress {
  FitState state = FitState::training;
  std::string reason = {};        // of a failure
  int64_t epoch = 0, epochs = 0;  // from 0
  int64_t step = -1, steps = -1;  // of this epoch; -1: none yet, and an unknown number
  double seconds = 0;             // since the fit began
  double seconds_left = -1;       // -1: unknown
  std::vector<std::pair<std::string, double>> metrics = {};  // the loss first
};

// `now` may be null: too few steps for a diagnosis. A reader finds the old file or the new one. Not
// synced to the disk: it is old in a second. A folder that cannot be written is no reason to stop
// training: the error's text is returned, empty when all is well.
std::string write_status(const std::string& folder, const FitProgress& progress,
                         const Diagnosis* now);

}  // namespace stoker::doctor
