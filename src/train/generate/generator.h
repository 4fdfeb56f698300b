// How a model's logits for the next token are computed: in steps that keep what earlier ones made,
// or over the whole sequence again. One per model, kept between generations with its programs.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <stoker/generate.h>

#include "train/generate/step_model.h"
#include "train/step/program_cache.h"

namespace stoker {

// A batch of equally long sequences, row by row.
using TokenRows = std::vector<TokenIds>;

// The model in steps, for a number of rows and a capacity.
class CachedSteps {
 public:
  CachedSteps(Context& context, StepModel model);
  // Begins new sequences: computes what does not depend on the tokens. Throws NotInSteps for a mask
  // that is not a causal one.
  void begin(std::span<const Tensor> other_inputs);
  // The logits [B, V] behind tokens `begin` … `end` - 1 of every row; those before were given.
  Tensor logits(const TokenRows& rows, int64_t begin, int64_t end);

 private:
  CachedProgram& program(int64_t chunk);
  void run_fixed();
  Program& run(CachedProgram& cached, std::span<const Tensor> inputs);

  Context& context_;
  StepModel model_;
  ProgramCache programs_;  // kind: tokens of a chunk; 0: the fixed values
  size_t fixed_known_ = 0;
  bool masks_checked_ = false;
  std::vector<Tensor> other_inputs_;
};

// The whole sequence for every token. A model of a fixed length gets the last tokens that fit;
// fewer are padded with zeros, behind them where the model gives logits for every step, else before.
class WholeSequences {
 public:
  explicit WholeSequences(ModelBase& model) : model_(model) {}
  Tensor logits(const TokenRows& rows, std::span<const Tensor> other_inputs);

 private:
  ModelBase& model_;
  ProgramCache programs_;
};

struct Generator {
  explicit Generator(ModelBase& model) : whole(model) {}
  struct Steps {
    int64_t rows, capacity;
    std::unique_ptr<CachedSteps> steps;
  };
  std::vector<Steps> steps;  // the most recently used first
  WholeSequences whole;
  bool in_steps = true;  // false: the model cannot be run so
  bool busy = false;
  uint64_t calls = 0;  // without a seed
};

// The model's fixed number of tokens; -1: any.
int64_t fixed_length(ModelBase& model);
// Tokens [begin, end) of every row, in the dtype of the model's input.
Tensor token_tensor(const TokenRows& rows, int64_t begin, int64_t end, DType dtype);

}  // namespace stoker
