// Runs a training job from its data to its result.
#pragma once

#include <iosfwd>

#include <stoker/model.h>
#include <nlohmann/json_fwd.hpp>

#include "jobs/data_spec.h"
#include "jobs/job.h"

namespace stoker::jobs {

// Seed, threads, device, precision and where progress goes, as the job says, in the default
// context: layers draw their first weights from there. ValueError for settings that are not possible.
void configure_context(const Job& job, std::ostream* out);

// The job's network for these pictures, or the one in its file; not compiled unless the file says
// how.
Model make_model(const Job& job, const TensorSpec& picture, const Outputs& outputs);
// The same for opened data: the model of a table begins by bringing its columns to mean 0 and variance
// 1, and ends by bringing numbers that it predicts to their mean and variance, with what the rows to
// train on have.
Model make_model(const Job& job, const JobData& data);
// steps: of the whole training, for schedules; 0: the rate stays.
void compile_model(const Job& job, const Model& model, int64_t steps = 0);

// Trains, saves what `out` asks for, and returns the figures:
//   val_accuracy, val_loss, accuracy, loss, epochs, steps, batch, samples_per_second, ms_per_step,
//   peak_memory_bytes, predicted_memory_bytes, final_weights_sha256, …
// docs/guide/command-line.md lists them. "problems" is there when something was trained and could
// not be kept where it belongs: "model" then says where the model is. Interrupted, with how to go
// on, when SIGINT, SIGTERM or SIGHUP ended a training that saves checkpoints. Progress
// goes to `out`; null: none.
nlohmann::json train(const Job& job, std::ostream* out);

// Trains the job once undisturbed and once stopped after each of `stops` steps and gone on with, in
// new folders of `directory`: {"same", "stops", "differences", "undisturbed_sha256",
// "resumed_sha256"}.
nlohmann::json verify_resume(const Job& job, const std::vector<int64_t>& stops,
                             const std::string& directory, std::ostream* out);

}  // namespace stoker::jobs
