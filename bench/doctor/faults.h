// Trainings with one thing wrong each, and what the doctor has to find.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/stoker.h>

namespace stoker::bench {

using namespace doctor;

// A training that can be run: the model, its data, its callbacks, and what runs beside it.
struct Patient {
  std::unique_ptr<Context> context;
  std::optional<Sequential> model;
  Batches batches;
  std::vector<CallbackRef> callbacks;
  std::shared_ptr<void> beside;  // ends with the patient
  // A fit that is to be judged by what its own observer saw, instead of diagnose().
  std::optional<FitArgs> fit;
};

struct Fault {
  std::string name;
  Finding finding;
  Cause cause;
  std::function<Patient(uint64_t seed)> make;
  // The same without the fault, where its absence is the cure: what a prediction is compared with.
  std::function<Patient(uint64_t seed)> cured = {};
  std::string hint = {};              // a part of a hint that is asked for, too
  std::optional<Action> action = {};  // that has to be among the prescriptions
};

std::vector<Fault> cpu_faults();
std::vector<Fault> everyday_faults();  // what programs do besides, on a CPU
std::vector<Fault> gpu_faults();       // need a GPU
// A slow pipeline as it is written, and with the best settings by hand.
Patient slow_pipeline(uint64_t seed, bool by_hand);

}  // namespace stoker::bench
