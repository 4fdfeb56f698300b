// take, argsort, cumulate.
#include <algorithm>

#include "graph/ops/order.h"
#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

// Indices outside read the nearest element here; ONNX refuses them.
std::string clamped(OnnxBuilder& builder, int indices, int64_t extent) {
  DType dtype = builder.spec(indices).dtype;
  const Tensor* known = builder.known_tensor(indices);
  std::string name = builder.get(indices);
  if (known != nullptr && known->elements() > 0 && known->min() >= 0 &&
      known->max() < double(extent))
    return name;
  return builder.add("Clip",
                     {name, builder.scalar(0, dtype), builder.scalar(double(extent - 1), dtype)});
}

void export_take(OnnxBuilder& builder, const Node& node) {
  int x = node.inputs[0], indices = node.inputs[1];
  auto axis = node.attrs.get<int64_t>("axis");
  std::string places = clamped(builder, indices, builder.shape(x)[int(axis)]), y;
  if (builder.shape(indices).rank() == 1) {
    y = builder.add("Gather", {builder.get(x), places}, {{"axis", axis}});
  } else {  // GatherND, whose indices are int64
    if (builder.spec(indices).dtype != DType::int64)
      places = builder.add("Cast", {places}, {{"to", onnx_dtype(DType::int64)}});
    places = builder.add("Unsqueeze", {places, builder.integers({-1})});
    y = builder.add("GatherND", {builder.get(x), places}, {{"batch_dims", axis}});
  }
  builder.set(node.outputs[0], y);
}

void export_argsort(OnnxBuilder& builder, const Node& node) {
  std::vector<std::string> found = builder.add_all(
      "TopK", {builder.get(node.inputs[0]), builder.integers({node.attrs.get<int64_t>("k")})}, 2,
      {{"axis", int64_t(-1)}, {"largest", int64_t(node.attrs.get<bool>("descending"))}});
  builder.set(node.outputs[0], builder.add("Cast", {found[1]}, {{"to", onnx_dtype(DType::int32)}}));
}

void export_cumulate(OnnxBuilder& builder, const Node& node) {
  if (node.inputs.size() == 2)
    builder.refuse(node, "ONNX has running sums, but none with factors (cumprod and the like)");
  int64_t axis = builder.shape(node.inputs[0]).rank() - 1;
  std::string at = builder.scalar(double(axis), DType::int64);
  builder.set(node.outputs[0],
              builder.add("CumSum", {builder.get(node.inputs[0]), at},
                          {{"reverse", int64_t(node.attrs.get_or("reverse", false))}}));
}

}  // namespace

void add_order_exporters(OnnxExporters& exporters) {
  exporters["take"] = export_take;
  exporters["argsort"] = export_argsort;
  exporters["cumulate"] = export_cumulate;
}

}  // namespace stoker
