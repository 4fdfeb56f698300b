#include "support/op_checks.h"

#include <cmath>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "engine/reference/reference_backend.h"
#include "support/run_op.h"

namespace stoker::test {

namespace {

std::string describe(const Tensor& tensor, int64_t element) {
  return fmt::format("{:.9g} at element {} of {}", tensor.at(element), element,
                     to_string(tensor.spec()));
}

// How many tolerances a value is off: 0 when equal, infinity for NaN.
double excess(double got, double expected, double tolerance) {
  if (got == expected) return 0;
  double error = std::abs(got - expected);
  return std::isnan(error) ? INFINITY : error / tolerance;
}

}  // namespace

std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                       const Tolerances& tolerances) {
  if (got.size() != expected.size())
    return fmt::format("{} outputs instead of {}", got.size(), expected.size());
  double worst = 1;
  std::string text;
  for (size_t output = 0; output < expected.size(); ++output) {
    const Tensor &mine = got[output], &right = expected[output];
    if (mine.spec() != right.spec())
      return fmt::format("output {} is {} instead of {}", output, to_string(mine.spec()),
                         to_string(right.spec()));
    bool is_float = is_floating(right.dtype());
    for (int64_t i = 0; i < right.elements(); ++i) {
      double tolerance = is_float ? tolerances[output][size_t(i)] : 0;
      double off = excess(mine.at(i), right.at(i), tolerance);
      if (!(off > worst)) continue;
      worst = off;
      text = fmt::format("output {}: {}, the reference has {:.9g}; {:.3g} apart, {:.3g} allowed",
                         output, describe(mine, i), right.at(i), std::abs(mine.at(i) - right.at(i)),
                         tolerance);
    }
  }
  return text;
}

std::string compare_with_reference(Backend& backend, const std::string& op, const OpCase& op_case,
                                   DType dtype, uint64_t seed) {
  OpRun run{op, op_case.attrs, draw_inputs(op, op_case, dtype, seed), {}};
  run.expected = run_op(reference_backend(), op, run.attrs, run.inputs);
  return difference(run_op(backend, op, run.attrs, run.inputs), run.expected, op_case.bound(run));
}

namespace {

constexpr uint64_t kGradientSeed = 20240229;
constexpr double kStep = 0x1p-10;  // h
constexpr double kGrid = 0x1p-12;  // inputs are its multiples: x ± 2 h is exact in float32
// Elements of an input that are checked, at most: of first and of second derivatives.
constexpr size_t kSample[] = {40, 12};
constexpr double kRelative = 1e-6;  // gradients leave a program as float32: 6e-8, and some reserve
constexpr double kAbsolute = 1e-9;

Value weighted_sum(Value sum, const Value& value, Rng& rng) {
  Tensor weights = draw({DType::float32, value.shape()}, {}, rng);
  Value term = ops::sum(ops::cast(value, DType::float32) * Value(weights));
  return sum.defined() ? sum + term : term;
}

// A graph whose first output is the weighted sum of an op's outputs (order 1), or of its gradients
// by `wrt` (order 2), and whose others are the gradients of that sum by `wrt`, if asked for.
struct LossProgram {
  std::unique_ptr<Program> program;

  LossProgram(const std::string& op, const Attrs& attrs, const std::vector<Tensor>& inputs,
              size_t outputs, const std::vector<size_t>& wrt, int order, bool differentiate) {
    Graph graph;
    Values operands, asked;
    for (const Tensor& input : inputs) operands.push_back(graph.input("input", input.spec()));
    for (size_t input : wrt) asked.push_back(operands[input]);
    Values results = graph.add(OpRegistry::get().find(op), operands, attrs);
    Rng rng = named_rng(kGradientSeed, "weights");
    Value loss;
    for (size_t i = 0; i < std::min(outputs, results.size()); ++i)
      if (is_floating(results[i].dtype())) loss = weighted_sum(loss, results[i], rng);
    if (!loss.defined()) throw Error(op + " has no float output to differentiate");
    if (order == 2) {
      Value second;
      for (const Value& gradient : gradients(loss, asked, kZeros))
        second = weighted_sum(second, gradient, rng);
      loss = second;
    }
    graph.output(loss, "loss");
    if (differentiate)
      for (const Value& gradient : gradients(loss, asked, kZeros))
        graph.output(gradient, "gradient");
    program = exact_reference().compile(graph, {});
  }

  double loss(const std::vector<Tensor>& inputs) {
    program->run(inputs);
    return program->scalar(0);
  }

  static constexpr GradientOptions kZeros{.unconnected = Unconnected::zeros};
};

// (f(x + h) - f(x - h)) / 2h
double central_difference(LossProgram& at, std::vector<Tensor> inputs, size_t input, size_t element,
                          double h) {
  std::vector<double> values = numbers(inputs[input]);
  TensorSpec spec = inputs[input].spec();
  double x = values[element];
  auto loss_at = [&](double moved) {
    values[element] = moved;
    inputs[input] = make_tensor(spec, values);
    return at.loss(inputs);
  };
  double above = loss_at(x + h), below = loss_at(x - h);
  return (above - below) / (2 * h);
}

std::vector<size_t> sample(size_t size, size_t most, Rng& rng) {
  std::vector<size_t> elements;
  if (size <= most)
    for (size_t i = 0; i < size; ++i) elements.push_back(i);
  else
    for (size_t i = 0; i < most; ++i) elements.push_back(size_t(rng.integer(0, int64_t(size))));
  return elements;
}

std::string check_input(LossProgram& forward, const std::vector<Tensor>& inputs, size_t input,
                        const Tensor& gradient, size_t most) {
  double scale = 0;
  for (double g : numbers(gradient)) scale += std::abs(g) / double(gradient.elements());
  Rng rng = named_rng(kGradientSeed, "sample");
  for (size_t element : sample(size_t(gradient.elements()), most, rng)) {
    double g = gradient.at(int64_t(element));
    double fine = central_difference(forward, inputs, input, element, kStep);
    double coarse = central_difference(forward, inputs, input, element, 2 * kStep);
    // The error of a central difference is c h²: from h and 2 h, c h² = (coarse - fine) / 3.
    double tolerance = std::abs(coarse - fine) + kRelative * (std::abs(fine) + scale) + kAbsolute;
    if (!(std::abs(g - fine) <= tolerance))
      return fmt::format(
          "input {}: gradient {}, finite differences give {:.9g}; {:.3g} apart, "
          "{:.3g} allowed",
          input, describe(gradient, int64_t(element)), fine, std::abs(g - fine), tolerance);
  }
  return "";
}

}  // namespace

std::string check_gradient(const std::string& op, const OpCase& op_case, DType dtype,
                           size_t outputs, int order) {
  std::vector<Tensor> inputs = draw_inputs(op, op_case, dtype, kGradientSeed, kGrid);
  std::vector<size_t> wrt;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (is_floating(inputs[i].dtype())) wrt.push_back(i);
  if (wrt.empty()) return "no float input to differentiate by";
  LossProgram forward(op, op_case.attrs, inputs, outputs, wrt, order, false);
  LossProgram backward(op, op_case.attrs, inputs, outputs, wrt, order, true);
  backward.loss(inputs);
  for (size_t i = 0; i < wrt.size(); ++i) {
    Tensor gradient = backward.program->output(i + 1);
    if (!op_case.inputs[wrt[i]].differentiable) {
      if (largest(gradient) != 0) return fmt::format("input {} has a gradient", wrt[i]);
      continue;
    }
    std::string wrong = check_input(forward, inputs, wrt[i], gradient, kSample[order - 1]);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace stoker::test
