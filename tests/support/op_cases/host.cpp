// host_call: functions that are exact in float32, so that finite differences see no rounding.
#include "base/host_function.h"

#include "support/op_cases.h"

namespace stoker::test {

namespace {

std::shared_ptr<const HostFunction> tripling_gradient() {
  auto function = std::make_shared<HostFunction>();
  function->name = "triple_gradient";
  function->infer = [](std::span<const TensorSpec> inputs) { return std::vector{inputs[0]}; };
  function->run = [](std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    for (int64_t i = 0; i < inputs[2].elements(); ++i)
      outputs[0].data_mut<float>()[i] = 3 * inputs[2].data<float>()[i];
  };
  return function;
}

// y = 3 x
std::shared_ptr<const HostFunction> tripling() {
  auto function = std::make_shared<HostFunction>();
  function->name = "triple";
  function->infer = [](std::span<const TensorSpec> inputs) {
    if (inputs.size() != 1) throw ShapeError("expected one input");
    return std::vector{inputs[0]};
  };
  function->run = [](std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    for (int64_t i = 0; i < inputs[0].elements(); ++i)
      outputs[0].data_mut<float>()[i] = 3 * inputs[0].data<float>()[i];
  };
  function->gradient = tripling_gradient();
  return function;
}

}  // namespace

void add_host_cases(OpCaseTable& table) {
  OpCases& cases = table["host_call"];
  Attrs attrs = {{"function", tripling()}};
  cases.good = {{"matrix", attrs, {{{3, 5}}}, exact()},
                {"scalar", attrs, {{{}}}, exact()},
                {"long", attrs, {{{1001}}}, exact()}};
  cases.bad = {{"two inputs", attrs, {{DType::float32, {3}}, {DType::float32, {3}}}}};
}

}  // namespace stoker::test
