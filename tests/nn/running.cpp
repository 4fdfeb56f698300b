#include "nn/running.h"

#include <cmath>

#include <stoker/random.h>

namespace stoker::test {

std::vector<Tensor> run(const std::vector<Tensor>& inputs, const Function& function,
                        const RunOptions& options) {
  Graph graph;
  graph.set_training(options.training);
  Variable state("random_state", Tensor::from({options.seed, options.step}, {2}));
  graph.set_random_state(graph.variable(state));
  Values values;
  for (size_t i = 0; i < inputs.size(); ++i)
    values.push_back(graph.input("input " + std::to_string(i), inputs[i].spec()));
  {
    Graph::Scope scope(graph, "test");
    for (const Value& output : function(graph, values)) graph.output(output, "output");
  }
  std::unique_ptr<Program> program = backend(options.device).compile(graph, {});
  program->run(inputs);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(program->output(i));
  return outputs;
}

Tensor run_layer(const Layer& layer, const Tensor& input, const RunOptions& options) {
  return run(
      {input}, [&](Graph&, const Values& x) { return Values{layer(x[0])}; }, options)[0];
}

Value weighted_sum(const Value& y, const Tensor& weights) { return ops::sum(y * Value(weights)); }

Tensor random_tensor(const Shape& shape, uint64_t seed) {
  Rng rng(seed);
  Tensor tensor(DType::float32, shape);
  float* values = tensor.data_mut<float>();
  for (int64_t i = 0; i < tensor.elements(); ++i) values[i] = rng.uniform(-1, 1);
  return tensor;
}

Tensor floats(const std::vector<float>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}

::testing::AssertionResult near(const Tensor& got, const std::vector<double>& expected,
                                double tolerance) {
  if (got.elements() != int64_t(expected.size()))
    return ::testing::AssertionFailure()
           << got.to_string() << " has not " << expected.size() << " values";
  for (int64_t i = 0; i < got.elements(); ++i) {
    double want = expected[size_t(i)];
    if (!(std::abs(got.at(i) - want) <= tolerance * std::max(1.0, std::abs(want))))
      return ::testing::AssertionFailure()
             << "element " << i << ": got " << got.at(i) << ", expected " << want;
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult near(const Tensor& got, const Tensor& expected, double tolerance) {
  if (got.shape() != expected.shape())
    return ::testing::AssertionFailure()
           << "got " << to_string(got.shape()) << ", expected " << to_string(expected.shape());
  std::vector<double> values;
  for (int64_t i = 0; i < expected.elements(); ++i) values.push_back(expected.at(i));
  return near(got, values, tolerance);
}

}  // namespace stoker::test
