// For tests of rewrites: what a graph computes before and after.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <stoker/ops.h>
#include <stoker/random.h>

#include "engine/reference/reference_backend.h"
#include "graph/graph.h"

namespace stoker::test {

inline Tensor noise(const TensorSpec& spec, uint64_t stream, uint64_t seed = 7) {
  Tensor tensor = Tensor::zeros(spec.shape, spec.dtype);
  Rng rng(seed, stream);
  if (spec.dtype == DType::int64) {
    auto* ids = tensor.data_mut<int64_t>();
    for (int64_t i = 0; i < tensor.elements(); ++i) ids[i] = rng.integer(0, 3);
  } else {
    auto* values = tensor.data_mut<float>();
    for (int64_t i = 0; i < tensor.elements(); ++i) values[i] = rng.normal() / 2;
  }
  return tensor;
}

inline Variable noisy(const std::string& name, const Shape& shape) {
  return Variable(name, noise({DType::float32, shape}, std::hash<std::string>()(name)));
}

// All outputs of one run on the reference backend.
inline std::vector<Tensor> run(const Graph& graph, uint64_t seed = 7) {
  auto program = reference_backend().compile(graph, {});
  std::vector<Tensor> inputs, outputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    inputs.push_back(noise(graph.spec(graph.inputs()[i].value), i, seed));
  program->run(inputs);
  for (size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(program->output(i));
  return outputs;
}

inline void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].spec(), expected[i].spec());
    for (int64_t k = 0; k < got[i].elements(); ++k)
      ASSERT_NEAR(got[i].at(k), expected[i].at(k), 1e-5 * (1 + std::abs(expected[i].at(k))))
          << "output " << i;
  }
}

// Makes the loss, and its gradient by every variable, outputs of the graph.
inline void differentiate(Graph& graph, const Value& loss, const std::vector<Variable>& variables) {
  Values found = gradients(loss, variables);
  graph.output(loss, "loss");
  for (size_t i = 0; i < found.size(); ++i) graph.output(found[i], variables[i].name());
}

}  // namespace stoker::test
