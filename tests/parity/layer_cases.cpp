#include "parity/layer_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/ops.h>

#include "parity/comparison.h"
#include "parity/step.h"

namespace stoker::test {

void draw_layer_weights(const std::vector<Variable>& weights, uint64_t seed) {
  for (size_t i = 0; i < weights.size(); ++i) {
    Variable weight = weights[i];
    weight.write(drawn(seed, kLayerWeights + i, weight.shape()));
  }
}

size_t compare_with_keras(const Recording& recording, const LayerParity& one,
                          const std::string& device) {
  SCOPED_TRACE(one.name);
  std::string name = fmt::format("layer/{}/", one.name);
  one.layer.base().ensure_built(one.inputs);
  std::vector<Variable> weights = one.layer.weights();
  draw_layer_weights(weights, recording.seed());
  Expected output = recording.expected(name + "output");
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < one.inputs.size(); ++i)
    inputs.push_back(drawn(recording.seed(), kLayerInput + i, one.inputs[i]));
  inputs.push_back(drawn(recording.seed(), kLayerCotangent, output.values.shape()));
  std::vector<Tensor> outputs = run_once(device, inputs, [&](const Values& traced) {
    Values x(traced.begin(), traced.end() - 1);
    Value y = one.layer(x);
    Value loss = ops::sum(y * traced.back());
    Values found = {y};
    for (const Value& gradient : gradients(loss, x)) found.push_back(gradient);
    for (const Value& gradient : gradients(loss, weights)) found.push_back(gradient);
    return found;
  });
  EXPECT_TRUE(agrees(outputs[0], output));
  for (size_t i = 1; i < outputs.size(); ++i)
    EXPECT_TRUE(agrees(outputs[i], recording.expected(fmt::format("{}gradient{}", name, i - 1))));
  return outputs.size();
}

}  // namespace stoker::test
