// Looking before running: the machine, a model with its memory plan, a pipeline with its plan, and
// the time of a step.
#pragma once

#include <iosfwd>
#include <string>

#include <stoker/tensor.h>
#include <nlohmann/json_fwd.hpp>

#include "jobs/data_spec.h"
#include "jobs/job.h"

namespace stoker::jobs {

// Devices, cores, vector instructions and memory of this machine.
nlohmann::json inspect_machine(std::ostream* out);

// What a known network takes when nothing else is said: digits for the small ones, 224×224×3 for
// the others.
struct NetworkInput {
  TensorSpec picture;
  Outputs outputs;
};
NetworkInput usual_input(const std::string& model);

// Layers, parameters, FLOPs and the memory plan of the job's model at its batch. The model is a
// known network, a .stoker file or the folder of a run; its input is that of the job's data, where
// there is any, then image_size and classes, then the usual one.
nlohmann::json inspect_model(const Job& job, std::ostream* out);

// The plan of the job's input pipeline. measured_batches: so many are made first, so that the plan
// has figures.
nlohmann::json inspect_data(const Job& job, int64_t measured_batches, std::ostream* out);

// Training steps of the job's model on made-up pictures:
//   ms_per_step (median), ms_p10, ms_p90, samples_per_second, predicted_memory_bytes,
//   peak_memory_bytes
nlohmann::json bench_step(const Job& job, int64_t steps, std::ostream* out);

// The same on 1, 2, 4, … of the job's devices, or on the processes that a launcher of MPI started: each step
// whole, without its sums, and its sums without a step; a model of the step (scaling_model.h) is fitted to
// that and predicts more ranks. `batch` is the whole batch.
//   ms_per_step, computing_ms, sums_ms, communication_share, overlap of the most ranks; points; model
nlohmann::json bench_scaling(const Job& job, int64_t steps, std::ostream* out);

}  // namespace stoker::jobs
