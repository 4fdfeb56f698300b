// What compile() and training add to a model: settings, sums, programs. Its gate decides who may
// use them: whoever shares the model reads them, leases programs and holds `evaluating` around the
// sums of an evaluation; whoever has it alone may change anything.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stoker/model.h>

#include "train/model/metric_set.h"
#include "train/model/topology.h"
#include "train/model/use_gate.h"
#include "train/step/distribution.h"
#include "train/step/program_cache.h"
#include "train/step/program_lanes.h"

namespace stoker {

namespace doctor {
struct Diagnosis;
}

class ModelBase;
struct Generator;
struct TracedCall;
class StepObserver;

// What an own training step updates, known once it has been traced (train/step/own_step_graph.h).
struct OwnOptimizer {
  Optimizer optimizer;
  int64_t times;  // that one step applies it
};
struct OwnTraining {
  std::vector<OwnOptimizer> optimizers;
  // Variables that are neither the optimisers' nor weights of the model: those of other models that
  // the step trains, moving averages, ….
  std::vector<Variable> others;
};

// What compile() settled.
struct Compiled {
  CompileArgs args;
  std::vector<Loss> losses;          // one for each output; undefined: none
  std::vector<double> loss_weights;  // likewise
  std::shared_ptr<MetricSet> training, evaluation;
  std::vector<Variable> trainable;
  std::vector<Variable> weights;  // all that the model had
  // Which layers were frozen when compile() looked. A program that is traced later still follows it.
  std::vector<std::pair<std::shared_ptr<LayerBase>, bool>> trainable_layers;
  OwnTraining own;
  std::vector<size_t> judged;  // the outputs that have a loss, and so a target
};

// part: adds the gradients of a part of a batch to those of the parts before it.
enum class StepKind : int { train, accumulate, test, predict, part };

// How a ProgramCache knows a step. `whole`: samples of the batch that the step is a part of; a
// training step is then its last part. 0: the step is the whole batch.
inline constexpr int kStepKinds = 8;
inline int program_key(StepKind kind, int64_t whole = 0) {
  return int(kind) + kStepKinds * int(whole);
}
inline StepKind kind_of(const CachedProgram& cached) { return StepKind(cached.kind % kStepKinds); }
inline bool is_training(StepKind kind) {
  return kind == StepKind::train || kind == StepKind::accumulate || kind == StepKind::part;
}

// Samples per run of a step, where a whole batch does not fit into memory; 0: whole batches.
struct PartSizes {
  int64_t training = 0, evaluation = 0;
};

struct Trainer {
  Context* context = &default_context();
  std::unique_ptr<Compiled> compiled;
  std::shared_ptr<Distribution> distribution;  // of the strategy it was compiled in; null: none
  int64_t rows_of_all = -1;  // of the batch that this process has its part of; -1: it has all.
                             // Under `evaluating`; predictions do not read it
  ProgramCache programs;
  ProgramLanes lanes{programs};  // for calls at the same time
  UseGate gate;
  std::recursive_mutex evaluating;
  std::mutex drawing;           // predictions that update a random state take turns
  uint64_t seed = 0;            // the context's when the model was first compiled
  Variable random_state;        // int64 [2]: a seed of its own, step
  Variable predict_state;       // likewise, of predictions that draw random numbers
  std::vector<Tensor> scratch;  // the inputs of a step that are put together here
  History history;
  std::atomic<bool> stop = false;
  std::atomic<bool> settings_said = false;  // those without effect, by a model that is not compiled
  std::set<std::string> masks_dropped;      // by these layers; each is said once
  bool busy = false;                        // inside fit
  bool device_said = false;                 // the next fit need not name its device
  int64_t batch_size = 0;                   // of the last fit
  std::shared_ptr<const doctor::Diagnosis> diagnosis;  // of the last fit, by who observed it
  StepObserver* observer = nullptr;                    // of the running fit
  PartSizes parts;                                     // of the running fit
  std::vector<Variable> part_sums;          // gradients of parts, one per trainable weight
  std::shared_ptr<TracedCall> traced_call;  // model(x, options), once used in such a way
  std::recursive_mutex generating;          // generations take turns
  std::shared_ptr<Generator> generator;     // once used
};

// While it lives, batches may be parts of larger ones (Trainer::rows_of_all), and other threads wait.
class PartOfBatch {
 public:
  explicit PartOfBatch(Trainer& trainer) : trainer_(trainer), turn_(trainer.evaluating) {}
  ~PartOfBatch() { trainer_.rows_of_all = -1; }
  PartOfBatch(const PartOfBatch&) = delete;
  PartOfBatch& operator=(const PartOfBatch&) = delete;

 private:
  Trainer& trainer_;
  std::lock_guard<std::recursive_mutex> turn_;
};

Trainer& trainer_of(ModelBase& model);

// A use that reads the model. The first one of a model that its data builds has it alone.
class Reading {
 public:
  Reading(ModelBase& model, const char* action);

 private:
  std::optional<Use> use_;
};
// Error, naming `action` and what is frozen, when training would change no weight.
void check_trainable(const ModelBase& model, const char* action);
// Error, naming `action`, before compile().
Compiled& compiled_of(ModelBase& model, const char* action);

// Seeds that are functions of the run's seed and of nothing else; streams that no initialiser gets.
uint64_t derived_seed(uint64_t seed, uint64_t purpose);
inline constexpr uint64_t kDropoutPurpose = uint64_t(1) << 63;
inline constexpr uint64_t kShufflePurpose = kDropoutPurpose + 1;
inline constexpr uint64_t kPredictPurpose = kDropoutPurpose + 2;
// int64 [2]: that seed, and the count of steps.
Variable make_random_state(const std::string& name, uint64_t seed, uint64_t purpose);

}  // namespace stoker
