// status.json in a run's folder: how a running fit stands, replaced about once a second.
#pragma once

#include <cstdint>
#include <string>

#include <stoker/doctor.h>

namespace stoker::doctor {

struct FitProgress {
  int64_t epoch = 0, epochs = 0;  // from 0
  int64_t step = 0, steps = -1;   // of this epoch; -1: not known
};

// A reader finds the old file or the new one. Not synced to the disk: it is old in a second. A
// folder that cannot be written is no reason to stop training: the error's text is returned, empty
// when all is well.
std::string write_status(const std::string& folder, const FitProgress& progress,
                         const Diagnosis& now);

}  // namespace stoker::doctor
