// matmul, conv2d, conv2d_transpose, max_pool2d, avg_pool2d.
#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

// The last two axes swapped where the product transposes the operand.
Form matrix_form(const OnnxBuilder& builder, int value, bool transpose) {
  Form form = plain_form(builder.shape(value).rank());
  if (transpose) std::swap(form[form.size() - 1], form[form.size() - 2]);
  return form;
}

void export_matmul(OnnxBuilder& builder, const Node& node) {
  int a = node.inputs[0], b = node.inputs[1];
  std::vector<std::string> operands = {
      builder.get(a, matrix_form(builder, a, node.attrs.get_or("transpose_a", false))),
      builder.get(b, matrix_form(builder, b, node.attrs.get_or("transpose_b", false)))};
  bool biased = node.inputs.size() == 3;
  bool flat = builder.shape(a).rank() == 2 && builder.shape(b).rank() == 2;
  std::string y;
  if (biased && flat) {
    operands.push_back(builder.get(node.inputs[2]));
    y = builder.add("Gemm", operands);
  } else {
    y = builder.add("MatMul", operands);
    if (biased) y = builder.add("Add", {y, builder.get(node.inputs[2])});
  }
  builder.set(node.outputs[0], add_activation(builder, node, y));
}

// Ours: top, bottom, left, right.
Ints onnx_pads(const Attrs& attrs) {
  const auto& pads = attrs.get<Ints>("pads");
  return {pads[0], pads[2], pads[1], pads[3]};
}

void export_conv2d(OnnxBuilder& builder, const Node& node) {
  int x = node.inputs[0], w = node.inputs[1];
  const Shape& kernel = builder.shape(w);
  std::vector<std::string> operands = {builder.get(x, channels_first(4)),
                                       builder.get(w, {3, 2, 0, 1})};
  if (node.inputs.size() == 3) operands.push_back(builder.get(node.inputs[2]));
  std::string y = builder.add("Conv", operands,
                              {{"kernel_shape", Ints{kernel[0], kernel[1]}},
                               {"strides", node.attrs.get<Ints>("strides")},
                               {"pads", onnx_pads(node.attrs)},
                               {"dilations", node.attrs.get_or("dilation", Ints{1, 1})},
                               {"group", node.attrs.get_or<int64_t>("groups", 1)}});
  builder.set(node.outputs[0], add_activation(builder, node, y), channels_first(4));
}

// Ours: [kh, kw, filters / groups, C]; ONNX's: [C, filters / groups, kh, kw].
void export_conv2d_transpose(OnnxBuilder& builder, const Node& node) {
  const Shape& kernel = builder.shape(node.inputs[1]);
  std::string y = builder.add(
      "ConvTranspose",
      {builder.get(node.inputs[0], channels_first(4)), builder.get(node.inputs[1], {3, 2, 0, 1})},
      {{"kernel_shape", Ints{kernel[0], kernel[1]}},
       {"strides", node.attrs.get<Ints>("strides")},
       {"pads", onnx_pads(node.attrs)},
       {"output_padding", node.attrs.get<Ints>("output_padding")},
       {"dilations", node.attrs.get<Ints>("dilation")},
       {"group", node.attrs.get<int64_t>("groups")}});
  builder.set(node.outputs[0], y, channels_first(4));
}

void export_pool(OnnxBuilder& builder, const Node& node, const char* op) {
  std::string x = builder.get(node.inputs[0], channels_first(4));
  std::string y = builder.add(op, {x},
                              {{"kernel_shape", node.attrs.get<Ints>("window")},
                               {"strides", node.attrs.get<Ints>("strides")},
                               {"pads", onnx_pads(node.attrs)}});
  builder.set(node.outputs[0], y, channels_first(4));
}

}  // namespace

void add_linear_exporters(OnnxExporters& exporters) {
  exporters["matmul"] = export_matmul;
  exporters["conv2d"] = export_conv2d;
  exporters["conv2d_transpose"] = export_conv2d_transpose;
  exporters["max_pool2d"] = [](OnnxBuilder& builder, const Node& node) {
    export_pool(builder, node, "MaxPool");
  };
  exporters["avg_pool2d"] = [](OnnxBuilder& builder, const Node& node) {
    export_pool(builder, node, "AveragePool");
  };
}

}  // namespace stoker
