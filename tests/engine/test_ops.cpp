// Every op of the registry, through every case of tests/support/op_cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "engine/cpu/int8_support.h"
#include "engine/device_test.h"
#include "support/op_checks.h"
#include "support/run_op.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

struct Op {
  const OpDef* def;
};
struct Case {
  const OpDef* op;
  const OpCase* op_case;
};

void PrintTo(const Op& op, std::ostream* out) { *out << op.def->name; }
void PrintTo(const Case& one, std::ostream* out) { *out << to_string(one.op_case->attrs); }

std::string op_name(const ::testing::TestParamInfo<Op>& info) { return info.param.def->name; }
std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return fmt::format("{}__{}", info.param.op->name, info.param.op_case->name);
}

const OpCases& cases_of(const OpDef& op) {
  static const OpCases none;
  auto found = op_cases().find(op.name);
  return found == op_cases().end() ? none : found->second;
}

std::vector<Op> all_ops() {
  std::vector<Op> ops;
  for (const auto& op : OpRegistry::get().all()) ops.push_back({op.get()});
  return ops;
}

std::vector<TensorSpec> input_specs(const OpCase& op_case, DType dtype) {
  std::vector<TensorSpec> specs;
  for (const InputCase& input : op_case.inputs)
    specs.push_back({input.dtype.value_or(dtype), input.shape});
  return specs;
}

bool any_float(std::span<const TensorSpec> specs) {
  return std::ranges::any_of(specs, [](const TensorSpec& spec) { return is_floating(spec.dtype); });
}

// --- what every op must have ---

class EveryOp : public ::testing::TestWithParam<Op> {
 protected:
  const OpDef& op_ = *GetParam().def;
  const OpCases& cases_ = cases_of(op_);
};

TEST_P(EveryOp, HasCases) {
  EXPECT_FALSE(cases_.good.empty()) << "no cases in tests/support/op_cases: add some";
  EXPECT_FALSE(cases_.bad.empty()) << "no calls that its shape rule must refuse: add some";
}

TEST_P(EveryOp, HasAKernelInEveryBackend) {
  bool floats = std::ranges::find(op_.dtypes, DType::float32) != op_.dtypes.end();
  for (const std::string& device : device_names())
    if (floats || op_.dtypes.empty())
      EXPECT_TRUE(backend(device).supports(op_.name, DType::float32)) << device << ", float32";
    else
      for (DType dtype : op_.dtypes)
        EXPECT_TRUE(backend(device).supports(op_.name, dtype)) << device << ", " << name(dtype);
}

TEST_P(EveryOp, HasACost) {
  for (const OpCase& op_case : cases_.good)
    for (DType dtype : dtypes_of(op_, op_case)) {
      std::vector<TensorSpec> inputs = input_specs(op_case, dtype);
      Cost cost = op_.cost(op_case.attrs, inputs, infer(op_, op_case.attrs, inputs, ""));
      EXPECT_TRUE(std::isfinite(cost.flops) && cost.flops >= 0)
          << op_case.name << ": " << cost.flops;
      EXPECT_TRUE(std::isfinite(cost.bytes) && cost.bytes > 0)
          << op_case.name << ": " << cost.bytes;
    }
}

// The reference rounds to the dtype after each op; before that it computes as the exact one does.
TEST_P(EveryOp, IsTheSameOnTheReferenceInEveryDtype) {
  for (const OpCase& op_case : cases_.good)
    for (DType dtype : dtypes_of(op_, op_case))
      EXPECT_EQ(compare_with_reference(exact_reference(), op_.name, op_case, dtype, fresh_seed()),
                "")
          << op_case.name << ", " << name(dtype) << ", STOKER_TEST_SEED=" << fresh_seed();
}

TEST_P(EveryOp, RefusesBadCallsByName) {
  for (const BadCall& call : cases_.bad) {
    Graph graph;
    Values inputs;
    for (const TensorSpec& spec : call.inputs) inputs.push_back(graph.input("x", spec));
    try {
      graph.add(op_, inputs, call.attrs);
      ADD_FAILURE() << call.why << " was accepted";
    } catch (const ShapeError& error) {
      EXPECT_NE(std::string(error.what()).find(op_.name), std::string::npos)
          << call.why << ": " << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << call.why << " is not a ShapeError: " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, ::testing::ValuesIn(all_ops()), op_name);

// --- gradients against finite differences ---

// Cases beyond this are there to be divided among threads; finite differences would take seconds.
constexpr int64_t kMostElements = 20000;

bool is_small(std::span<const TensorSpec> specs) {
  int64_t elements = 0;
  for (const TensorSpec& spec : specs) elements += spec.shape.elements();
  return elements <= kMostElements;
}

std::vector<Case> gradient_cases() {
  std::vector<Case> found;
  for (const auto& [op] : all_ops()) {
    if (!op->gradient) continue;
    for (const OpCase& op_case : cases_of(*op).good) {
      DType dtype = dtypes_of(*op, op_case)[0];
      std::vector<TensorSpec> inputs = input_specs(op_case, dtype);
      if (op_case.gradient && is_small(inputs) && any_float(inputs) &&
          any_float(infer(*op, op_case.attrs, inputs, "")))
        found.push_back({op, &op_case});
    }
  }
  return found;
}

class Gradient : public ::testing::TestWithParam<Case> {};

TEST_P(Gradient, MatchesFiniteDifferences) {
  const auto& [op, op_case] = GetParam();
  DType dtype = dtypes_of(*op, *op_case)[0];
  EXPECT_EQ(check_gradient(op->name, *op_case, dtype, cases_of(*op).differentiable_outputs), "");
}

// Ops whose gradient has no gradient, and why.
const std::map<std::string, std::string>& once_differentiable() {
  static const std::map<std::string, std::string> reasons = {
      {"host_call", "a host function gives its own gradient, which need not have one"},
  };
  return reasons;
}

TEST_P(Gradient, HasAGradientThatMatchesFiniteDifferences) {
  const auto& [op, op_case] = GetParam();
  if (once_differentiable().contains(op->name)) return;
  DType dtype = dtypes_of(*op, *op_case)[0];
  EXPECT_EQ(check_gradient(op->name, *op_case, dtype, cases_of(*op).differentiable_outputs, 2), "");
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, ::testing::ValuesIn(gradient_cases()), case_name);

// --- the CPU backend against the reference ---

std::vector<DType> cpu_dtypes(const OpDef& op, const OpCase& op_case) {
  std::vector<DType> dtypes = dtypes_of(op, op_case);
  std::erase_if(dtypes, [&](DType dtype) { return !backend("cpu").supports(op.name, dtype); });
  return dtypes;
}

std::vector<Case> cpu_cases() {
  std::vector<Case> found;
  for (const auto& [op] : all_ops())
    for (const OpCase& op_case : cases_of(*op).good)
      if (!cpu_dtypes(*op, op_case).empty()) found.push_back({op, &op_case});
  return found;
}

class CpuKernel : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
};

TEST_P(CpuKernel, MatchesTheReference) {
  const auto& [op, op_case] = GetParam();
  if (op_case->attrs.get_or<int64_t>("weight_bits", 0) == 8 && !cpu::has_exact_int8_sums())
    GTEST_SKIP() << "this processor has no VNNI: the engine halves eight-bit weights";
  for (DType dtype : cpu_dtypes(*op, *op_case))
    EXPECT_EQ(compare_with_reference(backend("cpu"), op->name, *op_case, dtype, fresh_seed()), "")
        << name(dtype) << ", again with STOKER_TEST_SEED=" << fresh_seed();
}

INSTANTIATE_TEST_SUITE_P(Ops, CpuKernel, ::testing::ValuesIn(cpu_cases()), case_name);

// --- the CUDA backend against the reference, in every dtype of the op ---

class CudaKernel : public ::testing::TestWithParam<Op> {};

TEST_P(CudaKernel, MatchesTheReference) {
  if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  const OpDef& op = *GetParam().def;
  for (const OpCase& op_case : cases_of(op).good)
    for (DType dtype : dtypes_of(op, op_case)) {
      ASSERT_TRUE(backend("cuda").supports(op.name, dtype)) << name(dtype);
      EXPECT_EQ(compare_with_reference(backend("cuda"), op.name, op_case, dtype, fresh_seed()), "")
          << op_case.name << ", " << name(dtype)
          << ", again with STOKER_TEST_SEED=" << fresh_seed();
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, CudaKernel, ::testing::ValuesIn(all_ops()), op_name);

}  // namespace

}  // namespace stoker::test
