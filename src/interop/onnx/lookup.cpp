// gather, one_hot.
#include <numeric>

#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

// Indices of an input are checked by whoever runs the model; others are clamped.
bool from_input(const OnnxBuilder& builder, int value) {
  const Node* node = builder.graph().producer(value);
  while (node != nullptr && (node->is("reshape") || node->is("cast"))) {
    value = node->inputs[0];
    node = builder.graph().producer(value);
  }
  return builder.graph().values()[size_t(value)].kind == ValueKind::input;
}

void export_gather(OnnxBuilder& builder, const Node& node) {
  int table = node.inputs[0], indices = node.inputs[1];
  std::string places = builder.get(indices);
  if (!from_input(builder, indices)) {
    DType dtype = builder.spec(indices).dtype;
    double last = double(builder.shape(table)[0] - 1);
    places = builder.add("Clip", {places, builder.scalar(0, dtype), builder.scalar(last, dtype)});
  }
  builder.set(node.outputs[0],
              builder.add("Gather", {builder.get(table), places}, {{"axis", int64_t(0)}}));
}

// ONNX's OneHot counts negative indices from the end; ours gives them a row of zeros.
void export_one_hot(OnnxBuilder& builder, const Node& node) {
  int indices = node.inputs[0], y = node.outputs[0];
  auto depth = node.attrs.get<int64_t>("depth");
  Ints classes(size_t(depth), 0);
  std::iota(classes.begin(), classes.end(), 0);
  Tensor each = Tensor::from(classes, {depth}).cast(builder.spec(indices).dtype);
  std::string apart = builder.add("Unsqueeze", {builder.get(indices), builder.integers({-1})});
  std::string hot = builder.add("Equal", {apart, builder.constant(each)});
  builder.set(y, builder.add("Cast", {hot}, {{"to", onnx_dtype(builder.spec(y).dtype)}}));
}

}  // namespace

void add_lookup_exporters(OnnxExporters& exporters) {
  exporters["gather"] = export_gather;
  exporters["one_hot"] = export_one_hot;
}

}  // namespace stoker
