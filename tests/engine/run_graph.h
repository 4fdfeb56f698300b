// Running a whole graph on a backend, and telling how far two results are from each other.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/backend.h"

namespace stoker::test {

// All outputs after so many runs; 0: three on a GPU, where kernels run one by one, are captured and
// replayed, else one.
inline std::vector<Tensor> run_graph(const Graph& graph, const std::vector<Tensor>& inputs,
                                     Backend& backend, int times = 0) {
  auto program = backend.compile(graph, {});
  if (times == 0) times = backend.name() == "cuda" ? 3 : 1;
  for (int time = 0; time < times; ++time) program->run(inputs);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(program->output(i));
  return outputs;
}

// ‖got − expected‖ / ‖expected‖; NaN is never small.
inline double distance(const Tensor& got, const Tensor& expected) {
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    difference += std::pow(got.at(i) - expected.at(i), 2);
    norm += std::pow(expected.at(i), 2);
  }
  return std::sqrt(difference / std::max(norm, 1e-30));
}

}  // namespace stoker::test
