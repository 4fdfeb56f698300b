// The training steps that are measured, as graphs on the CPU engine: forward, loss, backward, Adam.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backend.h"

namespace stoker::bench {

class TrainingStep {
 public:
  // conv3×3 `first`, ReLU, pool, conv3×3 `second`, ReLU, pool, dense 10 on 28×28×1: the seeds' CNN
  static std::unique_ptr<TrainingStep> cnn(int64_t first, int64_t second, int64_t batch,
                                           int threads);
  // three times conv3×3×64 (same padding, no bias), batch norm, ReLU at 32×32; global mean, dense
  // 10
  static std::unique_ptr<TrainingStep> tower(int64_t batch, int threads);

  void run() { program_->run(batch_); }
  double loss() const { return program_->scalar(0); }
  // Of the convolutions and matrix products alone: what the machine's peak can be asked for.
  double flops() const { return flops_; }

  Program& program() { return *program_; }
  const std::vector<Tensor>& batch() const { return batch_; }  // x: NHWC, class ids
  const std::vector<Variable>& parameters() const {
    return parameters_;
  }  // in the order in which they are used

 private:
  TrainingStep() = default;
  Value convolution(const Value& x, int64_t filters, bool same, bool with_bias);
  Value batch_norm(const Value& x);
  Value dense(const Value& x, int64_t units);
  Variable parameter(const std::string& name, const Shape& shape, float range);
  Value input(const Shape& shape);
  void finish(const Value& logits, int threads);
  void adam(const Value& loss);

  Graph graph_;
  std::vector<Variable> parameters_;
  std::vector<Tensor> batch_;
  Value labels_;
  std::unique_ptr<Program> program_;
  double flops_ = 0;
};

// The machine's peak as the CPU engine reaches it: matmul of 1024³.
class MatmulPeak {
 public:
  explicit MatmulPeak(int threads);
  double measure(int repeats);  // FLOP/s, the best of so many

 private:
  Graph graph_;
  std::vector<Tensor> operands_;
  std::unique_ptr<Program> program_;
};

}  // namespace stoker::bench
