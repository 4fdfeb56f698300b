// Single steps of a model: finds or makes the program of a batch, runs it, and says where it went
// wrong. In the steady state nothing is allocated here.
#pragma once

#include <cstdint>
#include <span>

#include "train/model/trainer.h"

namespace stoker {

// Where a step stands, for errors.
struct StepPlace {
  const char* action = "fit";
  int64_t epoch = -1;  // from 0; -1: not in an epoch
  int64_t step = -1;
};
std::string to_string(const StepPlace& place);  // "fit: epoch 2, step 17"

// The program of a step; traced and compiled when these specs are met for the first time. For
// whoever has the model alone or has leased its own programs.
// `whole` as in program_key().
CachedProgram& program_for(ModelBase& model, StepKind kind, std::span<const TensorSpec> specs,
                           const char* action, int64_t whole = 0);
// The same in programs of the caller's own.
CachedProgram& program_for(ModelBase& model, ProgramCache& programs, StepKind kind,
                           std::span<const TensorSpec> specs, const char* action,
                           int64_t whole = 0);
CachedProgram& program_for(ModelBase& model, StepKind kind, std::span<const Tensor> inputs,
                           const char* action);
// Which of the two training programs the next batch runs.
StepKind training_kind(const Trainer& trainer);

std::string_view name_of(StepKind kind);  // "train"

// A batch in parts of `size` samples, the last of them may be smaller. Views.
struct StepPart {
  std::vector<Tensor> inputs = {};
  int64_t whole = 0;  // samples of the batch
  bool last = false;
};
std::vector<StepPart> parts_of(std::span<const Tensor> inputs, int64_t size);

// inputs: as step_graph.h says. In parts where Trainer::parts says so. NonFiniteError names the place, the layer and the first bad op; the
// weights are then those before the step.
void run_training_step(ModelBase& model, std::span<const Tensor> inputs, const StepPlace& place);
// Waits for the steps that are still running; NonFiniteError if one of them was skipped.
void finish_training_steps(ModelBase& model, const StepPlace& place);
void run_test_step(ModelBase& model, std::span<const Tensor> inputs, const StepPlace& place);

// One prediction: runs it, in programs that no other thread uses meanwhile, and holds its outputs.
class Prediction {
 public:
  Prediction(ModelBase& model, std::span<const Tensor> inputs, const StepPlace& place);
  Tensor output(size_t index) const { return program_.output(index); }

 private:
  ProgramLanes::Lease lease_;
  Program& program_;
};

// Checks whole columns against what a program's inputs may hold (class ids, embedding indices);
// ValueError with the element's index in the column.
void check_limits(const CachedProgram& program, std::span<const Tensor> columns,
                  const char* action);

}  // namespace stoker
