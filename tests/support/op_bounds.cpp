#include "support/op_bounds.h"

#include <algorithm>
#include <cmath>

#include "support/draw.h"
#include "support/run_op.h"

namespace stoker::test {

namespace {

constexpr double kEpsilon = 0x1p-23;
constexpr double kTiny = 0x1p-126;  // the smallest normal float: below it engines may flush to zero
constexpr double kProductUlps = 8;
constexpr double kActivationUlps = 16;

// What storing a result as a 16-bit float adds: both sides round, so a unit in the last place.
double storage(DType dtype, double value) {
  if (dtype == DType::float16) return 0x1p-10 * std::abs(value) + 0x1p-24;
  if (dtype == DType::bfloat16) return 0x1p-7 * std::abs(value);
  return 0;
}

Tolerances for_each_element(const OpRun& run, const std::function<double(size_t, double)>& rule) {
  Tolerances tolerances;
  for (size_t output = 0; output < run.expected.size(); ++output) {
    tolerances.emplace_back();
    for (double value : numbers(run.expected[output]))
      tolerances.back().push_back(rule(output, value) + kTiny +
                                  storage(run.expected[output].dtype(), value));
  }
  return tolerances;
}

Tensor absolute(const Tensor& tensor) {
  std::vector<double> values = numbers(tensor);
  for (double& value : values) value = std::abs(value);
  return make_tensor(tensor.spec(), values);
}

}  // namespace

Bound exact() {
  return [](const OpRun& run) {
    Tolerances zeros;
    for (const Tensor& output : run.expected) zeros.emplace_back(size_t(output.elements()), 0.0);
    return zeros;
  };
}

Bound ulps(double count, double floor) {
  return [=](const OpRun& run) {
    return for_each_element(run, [&](size_t, double value) {
      return count * kEpsilon * std::max(std::abs(value), floor);
    });
  };
}

Bound scaled(double products, std::function<std::vector<double>(const OpRun&)> scales) {
  return [products, scales = std::move(scales)](const OpRun& run) {
    std::vector<double> scale = scales(run);
    bool activated = !run.attrs.get_or<std::string>("activation", "").empty();
    return for_each_element(run, [&](size_t output, double value) {
      return kEpsilon * (kProductUlps * std::sqrt(products) * scale[output] +
                         (activated ? kActivationUlps * std::abs(value) : 0));
    });
  };
}

Bound sums(double products, std::vector<size_t> linear) {
  return scaled(products, [linear = std::move(linear)](const OpRun& run) {
    std::vector<Tensor> inputs = run.inputs;
    for (size_t input : linear) inputs[input] = absolute(inputs[input]);
    Attrs attrs = run.attrs;
    if (attrs.has("activation") && run.op != "max_pool2d_grad")
      attrs.set("activation", std::string());
    std::vector<double> scales;
    for (const Tensor& output : run_op(exact_reference(), run.op, attrs, inputs))
      scales.push_back(largest(output));
    return scales;
  });
}

}  // namespace stoker::test
