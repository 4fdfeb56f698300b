// Every case of every exported op, and many random networks, in ONNX Runtime.
#include "interop/one_op.h"
#include "interop/onnx/exporters.h"
#include "interop/random_model.h"
#include "support/onnx_files.h"

namespace stoker::test {
namespace {

// ONNX Runtime has no CPU kernels for most ops in 16-bit floats.
bool is_tested(DType dtype) { return dtype != DType::float16 && dtype != DType::bfloat16; }

// Recurrent layers with masks, running sums with factors, and functions that ONNX does not have (of
// bits in all sets of operators).
bool is_refused(std::string_view op, const OpCase& op_case) {
  auto fn = op_case.attrs.get_or<std::string>("fn", "");
  return op_case.attrs.get_or("masked", false) ||
         (op == "cumulate" && op_case.inputs.size() == 2) || fn == "erfinv" ||
         fn.starts_with("shift_") || fn.starts_with("bit_");
}

TEST(OnnxOps, GiveWhatTheReferenceGives) {
  OnnxFiles files;
  int64_t count = 0;
  for (const auto& [op, exporter] : onnx_exporters()) {
    const OpDef& definition = OpRegistry::get().find(op);
    for (const OpCase& op_case : op_cases().at(std::string(op)).good)
      for (DType dtype : dtypes_of(definition, op_case)) {
        if (!is_tested(dtype) || is_refused(op, op_case)) continue;
        std::vector<Tensor> tensors = draw_inputs(definition.name, op_case, dtype, 1);
        OneOp one(definition.name, op_case.attrs, tensors);
        if (!is_tested(one.outputs[0].second.dtype())) continue;
        std::string name = definition.name + "-" + op_case.name + "-" +
                           std::string(stoker::name(dtype)) + "-" + std::to_string(count);
        // All sets of operators in turn.
        files.write(name, OnnxBuilder(one.graph, one.graph, 17 + count++ % 5).build());
        files.add_case(name, one.inputs, one.outputs);
      }
  }
  STOKER_EXPECT_PEER("interop/check_onnx.py", files.dir());
}

TEST(OnnxRuntime, AgreesOnManyNetworksDrawnAtRandom) {
  OnnxFiles files;
  for (uint64_t seed = 100; seed < 250; ++seed) {
    SCOPED_TRACE(seed);
    files.add("random" + std::to_string(seed), random_model(seed));
  }
  STOKER_EXPECT_PEER("interop/check_onnx.py", files.dir());
}

}  // namespace
}  // namespace stoker::test
