// Every op of the registry: exported, or refused with a reason.
#include <gtest/gtest.h>

#include "interop/one_op.h"
#include "interop/onnx/exporters.h"

namespace stoker::test {
namespace {

TEST(OnnxOps, AreAllExportedOrRefused) {
  for (const auto& op : OpRegistry::get().all())
    EXPECT_EQ(onnx_exporters().contains(op->name) + onnx_refusals().contains(op->name), 1)
        << op->name;
  EXPECT_EQ(onnx_exporters().size() + onnx_refusals().size(), OpRegistry::get().all().size());
}

TEST(OnnxOps, ThatAreRefusedAreNamedWithTheirLayer) {
  for (const auto& [op, why] : onnx_refusals()) {
    const OpCases& cases = op_cases().at(std::string(op));
    const OpDef& definition = OpRegistry::get().find(op);
    DType dtype = dtypes_of(definition, cases.good[0])[0];
    OneOp one(definition.name, cases.good[0].attrs,
              draw_inputs(definition.name, cases.good[0], dtype, 1));
    try {
      OnnxBuilder(one.graph, one.graph, 17).build();
      ADD_FAILURE() << op << " was exported";
    } catch (const ValueError& error) {
      EXPECT_EQ(error.what(), "export_onnx: layer \"layer\", op " + definition.name + ": " + why);
    }
  }
}

}  // namespace
}  // namespace stoker::test
