// The beginning of a residual network with everything that engines fuse in one: convolution, batch
// norm, relu and max pooling; a block whose shortcut is projected and normalised too; a block with
// a plain shortcut. Its outputs are the last image and the gradients of all parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/ops.h>
#include <stoker/random.h>

#include "graph/graph.h"

namespace stoker::test {

double unit_roundoff(DType dtype);  // the largest relative error of one rounding

struct TowerOptions {
  int64_t batch = 3, height = 9, width = 11, channels = 8, window = 3;
  DType dtype = DType::float32;  // of the computation; parameters and statistics are float32
  bool kinks = true;             // false: tanh instead of relu, a mean instead of the maximum
  // Moves every number of every image by up to the error of so many roundings, at random from a
  // seed. Engines that round at other points than the reference may differ by as much as one does.
  double shake = 0;
  uint64_t shake_seed = 0;
  // What an engine gets wrong: the gradient through the projected shortcut is taken so many times.
  double shortcut_slope = 1;
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
  Value relu(const Value& x);
  Value in_dtype(const Value& x);
  Value shaken(const Value& x);
  Value block(const Value& x, int64_t stride);
  Variable parameter(const Shape& shape, double low, double high);

  TowerOptions options_;
  Rng rng_, shake_;
  std::vector<Variable> parameters_;
};

}  // namespace stoker::test
