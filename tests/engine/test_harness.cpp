// The comparisons that every op goes through must be able to fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/host_function.h"
#include "engine/reference/reference_backend.h"
#include "support/op_checks.h"

namespace stoker::test {

namespace {

using Spoil = std::function<void(std::vector<double>&)>;

// The reference backend, with the numbers of every output spoilt.
class SpoiltProgram final : public Program {
 public:
  SpoiltProgram(std::unique_ptr<Program> right, Spoil spoil)
      : right_(std::move(right)), spoil_(std::move(spoil)) {}
  RunStatus run(std::span<const Tensor> inputs) override { return right_->run(inputs); }
  Tensor output(size_t index) const override {
    Tensor right = right_->output(index);
    std::vector<double> values = numbers(right);
    spoil_(values);
    return make_tensor(right.spec(), values);
  }
  double scalar(size_t index) const override { return right_->scalar(index); }
  const MemoryReport& memory() const override { return right_->memory(); }
  const std::vector<KernelInfo>& kernels() const override { return right_->kernels(); }
  RunStatus run_timed(std::span<const Tensor> inputs, std::vector<int64_t>& times) override {
    return right_->run_timed(inputs, times);
  }
  std::optional<NonFinite> find_non_finite(std::span<const Tensor> inputs) override {
    return right_->find_non_finite(inputs);
  }

 private:
  std::unique_ptr<Program> right_;
  Spoil spoil_;
};

constexpr BackendTraits kTraits{.name = "spoilt"};

class SpoiltBackend final : public Backend {
 public:
  explicit SpoiltBackend(Spoil spoil) : spoil_(std::move(spoil)) {}
  const BackendTraits& traits() const override { return kTraits; }
  bool supports(std::string_view, DType) const override { return true; }
  std::unique_ptr<Program> compile(const Graph& graph, const CompileOptions& options) override {
    return std::make_unique<SpoiltProgram>(reference_backend().compile(graph, options), spoil_);
  }
  std::shared_ptr<Arena> make_arena() override { return reference_backend().make_arena(); }
  std::string fingerprint() const override { return "spoilt"; }

 private:
  Spoil spoil_;
};

TEST(Harness, EveryCaseNoticesAnElementThatIsOffByAThousandth) {
  SpoiltBackend spoilt([](std::vector<double>& values) {
    double& most = *std::ranges::max_element(
        values, {}, [](double value) { return std::isfinite(value) ? std::abs(value) : -1; });
    bool flag = most == 0 || most == 1, integer = most == std::trunc(most) && std::abs(most) < 1e4;
    // Towards 0, because codes end at 255 and at -128.
    most = flag      ? 1 - most
           : integer ? most - std::copysign(1.0, most)
                     : most + 1e-3 * std::max(1.0, std::abs(most));
  });
  for (const auto& [op, cases] : op_cases())
    for (const OpCase& op_case : cases.good) {
      DType dtype = dtypes_of(OpRegistry::get().find(op), op_case)[0];
      EXPECT_NE(compare_with_reference(spoilt, op, op_case, dtype, 1), "")
          << op << "/" << op_case.name;
    }
}

TEST(Harness, EveryFloatCaseNoticesAnElementThatIsNotWritten) {
  SpoiltBackend spoilt([](std::vector<double>& values) { values.back() = NAN; });
  for (const auto& [op, cases] : op_cases())
    for (const OpCase& op_case : cases.good) {
      const OpDef& def = OpRegistry::get().find(op);
      DType dtype = dtypes_of(def, op_case)[0];
      std::vector<TensorSpec> inputs;
      for (const InputCase& input : op_case.inputs)
        inputs.push_back({input.dtype.value_or(dtype), input.shape});
      if (!is_floating(infer(def, op_case.attrs, inputs, "")[0].dtype)) continue;
      EXPECT_NE(compare_with_reference(spoilt, op, op_case, dtype, 1), "")
          << op << "/" << op_case.name;
    }
}

TEST(Harness, ElementwiseCasesNoticeAFewUnitsInTheLastPlace) {
  SpoiltBackend spoilt([](std::vector<double>& values) { values[0] *= 1 + 6 * 0x1p-23; });
  const OpCase& add = op_cases().at("binary").good[0];
  EXPECT_NE(compare_with_reference(spoilt, "binary", add, DType::float32, 1), "");
}

TEST(Harness, DifferenceTellsWhatIsWrong) {
  std::vector<Tensor> right = {Tensor::from<float>({1, 2, 3}, {3})};
  Tolerances allowed = {{0.1, 0.1, 0.1}};
  EXPECT_EQ(difference(right, right, allowed), "");
  EXPECT_EQ(difference({Tensor::from<float>({1, 2.05F, 3}, {3})}, right, allowed), "");
  std::string text = difference({Tensor::from<float>({1.2F, 2, 3.5F}, {3})}, right, allowed);
  EXPECT_NE(text.find("3.5 at element 2"), std::string::npos) << text;
  EXPECT_NE(difference({Tensor::from<float>({1, NAN, 3}, {3})}, right, allowed), "");
  EXPECT_NE(difference({Tensor::from<float>({1, 2, 3}, {3, 1})}, right, allowed), "");
  EXPECT_NE(difference({}, right, allowed), "");
}

// --- gradients ---

OpCase host_case(double forward, double backward) {
  auto times = [](double factor, size_t operand) {
    auto function = std::make_shared<HostFunction>();
    function->name = "times";
    function->infer = [](std::span<const TensorSpec> inputs) { return std::vector{inputs[0]}; };
    function->run = [=](std::span<const Tensor> inputs, std::span<Tensor> outputs) {
      for (int64_t i = 0; i < inputs[0].elements(); ++i)
        outputs[0].data_mut<float>()[i] = float(factor) * inputs[operand].data<float>()[i];
    };
    return function;
  };
  auto function = times(forward, 0);
  function->gradient = times(backward, 2);
  return {
      "times", {{"function", std::shared_ptr<const HostFunction>(function)}}, {{{3, 5}}}, exact()};
}

TEST(Harness, GradientCheckAcceptsARightRule) {
  EXPECT_EQ(check_gradient("host_call", host_case(3, 3), DType::float32, 1), "");
}

TEST(Harness, GradientCheckReportsAWrongRule) {
  std::string text = check_gradient("host_call", host_case(3, 2), DType::float32, 1);
  EXPECT_NE(text.find("finite differences"), std::string::npos) << text;
}

TEST(Harness, GradientCheckReportsARuleThatIsOffByAHundredThousandth) {
  EXPECT_NE(check_gradient("host_call", host_case(3, 3.00003), DType::float32, 1), "");
}

TEST(Harness, GradientCheckReportsAMissingGradient) {
  OpCase identity = op_cases().at("identity").good[0];
  EXPECT_EQ(check_gradient("identity", identity, DType::float32, 1), "");
  identity.inputs[0].differentiable = true;
  EXPECT_NE(check_gradient("identity", identity, DType::float32, 1), "");
}

TEST(Harness, GradientCheckReportsAGradientWhereNoneShouldBe) {
  OpCase relu = op_cases().at("unary").good[0];
  relu.inputs[0].differentiable = false;
  EXPECT_NE(check_gradient("unary", relu, DType::float32, 1), "");
}

}  // namespace

}  // namespace stoker::test
