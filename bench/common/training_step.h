// The training steps that are measured, as a user writes them: a Sequential, compiled, and one
// batch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/stoker.h>

#include "engine/backend.h"

namespace stoker {
struct CachedProgram;
}

namespace stoker::bench {

// What train_on_batch runs for a batch like this one, with the graph it was made of. The model is
// compiled.
CachedProgram& training_program(const Model& model, const Batch& batch);

class TrainingStep {
 public:
  // conv 3×3 `first`, ReLU, pool, conv 3×3 `second`, ReLU, pool, dense 10 on 28×28×1
  static std::unique_ptr<TrainingStep> cnn(int64_t first, int64_t second, int64_t batch,
                                           int threads);
  // three times conv 3×3×64 (same padding, no bias), batch norm, ReLU at 32×32; mean, dense 10
  static std::unique_ptr<TrainingStep> tower(int64_t batch, int threads);

  double run() { return model_.train_on_batch(batch_)["loss"]; }  // the loss
  // Of the convolutions and matrix products alone: what the machine's peak can be asked for.
  double flops();

  Program& program();                            // that run() runs
  const Batch& batch() const { return batch_; }  // x: NHWC, class ids
  std::vector<Variable> parameters() const { return model_.trainable_variables(); }

 private:
  TrainingStep(const std::vector<Layer>& layers, const Shape& x, int threads);

  Context context_;
  Sequential model_;
  Batch batch_;
};

// The machine's peak as the CPU engine reaches it: a matmul of 1024³.
class MatmulPeak {
 public:
  explicit MatmulPeak(int threads);
  void run() { program_->run(operands_); }
  double measure(int repeats);  // FLOP/s, the best of so many
  static constexpr double kFlops = 2 * 1024.0 * 1024.0 * 1024.0;

 private:
  Graph graph_;
  std::vector<Tensor> operands_;
  std::unique_ptr<Program> program_;
};

}  // namespace stoker::bench
