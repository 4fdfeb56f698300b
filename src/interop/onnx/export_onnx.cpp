#include <stoker/onnx.h>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/version.h>

#include "graph/passes/fusion_rules.h"
#include "graph/passes/passes.h"
#include "interop/onnx/batch_twins.h"
#include "interop/onnx/builder.h"
#include "train/model/model_base.h"

namespace stoker {

namespace {

constexpr int64_t kFirstOpset = 17, kLastOpset = 21;

void check(const OnnxOptions& options) {
  if (options.opset < kFirstOpset || options.opset > kLastOpset)
    throw ValueError(fmt::format("export_onnx: opset is {} to {}, got {}", kFirstOpset, kLastOpset,
                                 options.opset));
  if (options.batch != kDynamicBatch && options.batch < 1)
    throw ValueError(fmt::format("export_onnx: batch must be at least 1 or kDynamicBatch, got {}",
                                 options.batch));
}

// The batch, and what stands for the other unknown dimensions of inputs. Two of them tell which
// extents of a graph follow these; one is odd, so that padding which depends on it is noticed.
struct Sizes {
  int64_t batch, unknown;
};
constexpr Sizes kFirst = {2, 960}, kSecond = {3, 1021};

// The prediction, biases joined to their products as ONNX has them.
std::unique_ptr<Graph> trace(ModelBase& model, const Sizes& sizes) {
  const Topology& topology = model.topology("export_onnx");
  auto graph = std::make_unique<Graph>();
  graph->set_policy_dtypes([](const std::string&) { return DType::float32; });
  Values inputs;
  for (size_t i = 0; i < topology.inputs.size(); ++i) {
    TensorSpec row = topology.input_row(i);
    for (int axis = 0; axis < row.shape.rank(); ++axis)
      if (row.shape[axis] < 0) row.shape.set(axis, sizes.unknown);
    inputs.push_back(
        graph->input(topology.input_names[i], {row.dtype, row.shape.prepend(sizes.batch)}));
  }
  CallContext context(*graph);
  Graph::Scope scope(*graph, "model");
  Values outputs = model.call(inputs, context);
  for (size_t i = 0; i < outputs.size(); ++i) graph->output(outputs[i], topology.output_names[i]);
  if (!graph->assignments().empty()) {
    const Assignment& first = graph->assignments().front();
    throw ValueError(fmt::format(
        "export_onnx: \"{}\" changes while the model predicts, and an ONNX model has no state",
        graph->variables()[size_t(first.variable)].variable.name()));
  }
  passes::compose_attention(*graph, [](const Node&) { return false; });
  passes::fuse_bias(*graph);
  graph->remove_dead_nodes();
  return graph;
}

bool is_known(const Topology& topology) {
  for (size_t i = 0; i < topology.inputs.size(); ++i)
    if (!topology.input_row(i).shape.is_known()) return false;
  return true;
}

}  // namespace

void export_onnx(const Model& model, const std::string& path, const OnnxOptions& options) {
  check(options);
  ModelBase& base = ModelAccess::base(model);
  bool dynamic = options.batch == kDynamicBatch;
  auto at = [&](Sizes sizes) {
    return trace(base, dynamic ? sizes : Sizes{options.batch, sizes.unknown});
  };
  std::unique_ptr<Graph> graph = at(kFirst), other;
  if (dynamic || !is_known(base.topology("export_onnx"))) {
    other = at(kSecond);
    check_twins(*graph, *other);
  }
  OnnxModel exported = OnnxBuilder(*graph, other ? *other : *graph, options.opset).build();
  exported.name = base.label();
  exported.producer_version = version();
  exported.metadata = options.metadata;
  write_onnx(path, exported);
}

}  // namespace stoker
