// The beginning of a residual network with everything that engines fuse in one: convolution, batch
// norm, relu and max pooling; a block whose shortcut is projected and normalised too; a block with
// a plain shortcut; a mean. Its outputs are the loss and the gradients of all parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/ops.h>
#include <stoker/random.h>

#include "graph/graph.h"

namespace stoker::test {

struct TowerOptions {
  int64_t batch = 3, height = 9, width = 11, channels = 8, window = 3;
  DType dtype = DType::float32;  // of the computation; parameters and statistics are float32
  std::string text() const;
};

class ResidualTower {
 public:
  ResidualTower(const TowerOptions& options, uint64_t seed);

  Graph graph;
  std::vector<Tensor> inputs;  // x

 private:
  Value convolution(const Value& x, int64_t filters, int64_t kernel, int64_t stride);
  Value norm(const Value& x);
  Value block(const Value& x, int64_t stride);
  Variable parameter(const Shape& shape, double low, double high);

  DType dtype_;
  Rng rng_;
  std::vector<Variable> parameters_;
};

}  // namespace stoker::test
