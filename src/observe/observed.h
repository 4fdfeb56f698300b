// What an observer leaves behind: the diagnosis, and the evidence that further experiments add to.
#pragma once

#include <stoker/doctor.h>

#include "observe/device_monitor.h"
#include "observe/recording.h"
#include "train/model/model_base.h"
#include "train/step/program_cache.h"

namespace stoker::doctor {

struct Observed : Diagnosis {
  Evidence evidence;
};

// Fills in everything that follows from the evidence: verdict, shares, tables, prescriptions.
void conclude(Diagnosis& diagnosis, const Evidence& evidence);
// The same for a short fit: fewer steps than a verdict usually needs.
void conclude(Diagnosis& diagnosis, const Evidence& evidence, int64_t least_steps);
// The training program for batches of this size, or else the one for the largest: the last batch of
// an epoch may have had one of its own. Null: the model has not trained yet.
const CachedProgram* step_for(const ModelBase& model, int64_t samples);
// Programs that train, for batches of any size.
bool is_training(const CachedProgram& cached);
void set_device_knobs(ModelBase& model, const DeviceKnobs& knobs);  // of all of them
// What the program of these steps runs on, and what is copied for it. Does nothing for null.
void add_device(Evidence& evidence, const CachedProgram* step, const Context& context);
// The GPU's memory and use, as far as the driver reports them.
void add_gpu(DeviceFacts& device, const GpuState& gpu);
// As add_device, and what the program of these steps costs compared with the machine's peaks, which are measured on first
// use. Does nothing for null: the model has not trained yet.
void add_costs(Evidence& evidence, const CachedProgram* step, const Context& context);
// Names of machine and device, predicted and measured memory.
void add_machine(Diagnosis& diagnosis, ModelBase& model, const Context& context);

// The processor and its cores, in words.
std::string machine_name();
// "NVIDIA H200", or "CPU, 16 threads".
std::string device_name(const Backend& engine, const Context& context);

}  // namespace stoker::doctor
