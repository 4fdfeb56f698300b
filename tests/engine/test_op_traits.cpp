// Every op of the registry keeps what its traits promise, in every case of tests/support/op_cases.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include <stoker/ops.h>

#include "engine/device_test.h"
#include "support/op_checks.h"
#include "support/run_op.h"

namespace stoker::test {

namespace {

// One call of an op: its operands and what its shape rule makes of them.
struct Traced {
  const OpDef& op;
  const OpCase& op_case;
  std::vector<TensorSpec> inputs, outputs;
};

int for_each_call(const std::function<bool(const OpTraits&)>& wanted,
                  const std::function<void(const Traced&)>& look) {
  int calls = 0;
  for (const auto& op : OpRegistry::get().all()) {
    if (!wanted(op->traits)) continue;
    for (const OpCase& op_case : op_cases().at(op->name).good)
      for (DType dtype : dtypes_of(*op, op_case)) {
        SCOPED_TRACE(op->name + ", " + op_case.name);
        std::vector<TensorSpec> inputs;
        for (const InputCase& input : op_case.inputs)
          inputs.push_back({input.dtype.value_or(dtype), input.shape});
        look({*op, op_case, inputs, infer(*op, op_case.attrs, inputs, "")});
        ++calls;
      }
  }
  return calls;
}

}  // namespace

TEST(OpTraits, ElementwiseOpsBroadcastTheirOperandsToTheirResult) {
  int calls = for_each_call([](const OpTraits& traits) { return traits.elementwise; },
                            [](const Traced& call) {
                              ASSERT_EQ(call.outputs.size(), 1U);
                              const Shape& made = call.outputs[0].shape;
                              for (const TensorSpec& input : call.inputs)
                                EXPECT_EQ(broadcast(input.shape, made), made);
                            });
  EXPECT_GT(calls, 0);
}

TEST(OpTraits, OpsThatShareBytesGiveTheirOperandsBytes) {
  int calls = for_each_call(
      [](const OpTraits& traits) { return traits.shares_bytes; },
      [](const Traced& call) {
        ASSERT_EQ(call.inputs.size(), 1U);
        Tensor x = make_tensor(call.inputs[0],
                               std::vector<double>(size_t(call.inputs[0].shape.elements()), 1.0));
        Tensor y = run_op(backend("reference"), call.op.name, call.op_case.attrs, {x})[0];
        ASSERT_EQ(y.bytes(), x.bytes());
        EXPECT_EQ(std::memcmp(y.raw(), x.raw(), x.bytes()), 0);
      });
  EXPECT_GT(calls, 0);
}

TEST(OpTraits, OpsThatOnlyMoveElementsTakeEveryDtypeOnEveryEngine) {
  int calls = for_each_call(
      [](const OpTraits& traits) { return traits.moves; },
      [](const Traced& call) {
        EXPECT_EQ(call.outputs[0].dtype, call.inputs[0].dtype);
        EXPECT_EQ(call.op.cost(call.op_case.attrs, call.inputs, call.outputs).flops, 0);
        for (const std::string& device : device_names())
          EXPECT_TRUE(backend(device).supports(call.op.name, call.inputs[0].dtype)) << device;
      });
  EXPECT_GT(calls, 0);
}

TEST(OpTraits, UpdatesOverwriteAnOperandWithEveryResult) {
  int calls = for_each_call([](const OpTraits& traits) { return traits.updates_variables; },
                            [](const Traced& call) {
                              ASSERT_TRUE(call.op.in_place);
                              auto pairs = call.op.in_place(call.op_case.attrs, call.inputs.size());
                              ASSERT_EQ(pairs.size(), call.outputs.size());
                              for (auto [output, input] : pairs)
                                EXPECT_EQ(call.outputs[size_t(output)], call.inputs[size_t(input)]);
                            });
  EXPECT_GT(calls, 0);
}

TEST(OpTraits, OpsThatTakeAnyEpilogueTakeABiasAndAnActivation) {
  int calls = for_each_call(
      [](const OpTraits& traits) { return traits.epilogue == Epilogue::bias_and_activation; },
      [](const Traced& call) {
        if (call.inputs.size() != 2) return;
        std::vector<TensorSpec> inputs = call.inputs;
        inputs.push_back({call.outputs[0].dtype, {call.outputs[0].shape[-1]}});
        Attrs attrs = call.op_case.attrs;
        attrs.set("activation", std::string("relu"));
        EXPECT_EQ(infer(call.op, attrs, inputs, ""), call.outputs);
      });
  EXPECT_GT(calls, 0);
}

TEST(OpTraits, OpsThatStopTheGradientGiveNone) {
  int calls = for_each_call([](const OpTraits& traits) { return traits.stops_gradient; },
                            [](const Traced& call) {
                              if (!is_floating(call.inputs[0].dtype)) return;
                              Graph graph;
                              Value x = graph.input("x", call.inputs[0]);
                              Values operands = {x};
                              for (size_t i = 1; i < call.inputs.size(); ++i)
                                operands.push_back(graph.input("more", call.inputs[i]));
                              Value y = graph.add(call.op, operands, call.op_case.attrs)[0];
                              Value dx = gradients(ops::sum(y), {x},
                                                   {.unconnected = Unconnected::undefined})[0];
                              EXPECT_FALSE(dx.defined());
                            });
  EXPECT_GT(calls, 0);
}

}  // namespace stoker::test
