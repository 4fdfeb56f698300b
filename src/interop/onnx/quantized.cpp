// Ops on numbers in eight bits, as QuantizeLinear and DequantizeLinear around the float operator: the
// form that runtimes turn into int8 kernels of their own.
#include "graph/ops/quantized.h"

#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

std::string code_number(OnnxBuilder& builder, int64_t code) {
  return builder.scalar(double(code), DType::uint8);
}

std::string to_codes(OnnxBuilder& builder, const std::string& x, double scale, int64_t zero_point) {
  return builder.add("QuantizeLinear",
                     {x, builder.scalar(scale, DType::float32), code_number(builder, zero_point)});
}

std::string to_floats(OnnxBuilder& builder, const std::string& x, double scale,
                      int64_t zero_point) {
  return builder.add("DequantizeLinear",
                     {x, builder.scalar(scale, DType::float32), code_number(builder, zero_point)});
}

std::string input_floats(OnnxBuilder& builder, const Node& node, const std::string& x,
                         const std::string& name = "x") {
  return to_floats(builder, x, node.attrs.get<double>(name + "_scale"),
                   node.attrs.get<int64_t>(name + "_zero_point"));
}

// What the node stores of a float result.
std::string stored_result(OnnxBuilder& builder, const Node& node, std::string y) {
  quantized::Target to(node.attrs);
  if (to.floats) return y;
  bool relu = to.low == to.zero_point && to.low > 0 && to.high == 255;
  if (relu)
    y = builder.add("Relu", {y});
  else if (to.clips())
    y = builder.add("Clip",
                    {y, builder.scalar(double(to.low - to.zero_point) * to.scale, DType::float32),
                     builder.scalar(double(to.high - to.zero_point) * to.scale, DType::float32)});
  return to_codes(builder, y, to.scale, int64_t(to.zero_point));
}

void export_quantize(OnnxBuilder& builder, const Node& node) {
  Form form = builder.form(node.inputs[0]);
  std::string x = builder.get(node.inputs[0], form);
  builder.set(
      node.outputs[0],
      to_codes(builder, x, node.attrs.get<double>("scale"), node.attrs.get<int64_t>("zero_point")),
      form);
}

void export_dequantize(OnnxBuilder& builder, const Node& node) {
  Form form = builder.form(node.inputs[0]);
  std::string x = builder.get(node.inputs[0], form);
  builder.set(
      node.outputs[0],
      to_floats(builder, x, node.attrs.get<double>("scale"), node.attrs.get<int64_t>("zero_point")),
      form);
}

// The bias without what it holds of the input's zero point: bias + zero point · Σ w.
std::string plain_bias(OnnxBuilder& builder, const Node& node) {
  auto zero_point = node.attrs.get<int64_t>("x_zero_point");
  int w = node.inputs[1], bias = node.inputs[3];
  if (zero_point == 0) return builder.get(bias);
  const Tensor *weights = builder.known_tensor(w), *known = builder.known_tensor(bias);
  if (weights != nullptr && known != nullptr) {
    Tensor plain = known->clone();
    int64_t filters = plain.elements(), each = filters == 0 ? 0 : weights->elements() / filters;
    for (int64_t i = 0; i < filters * each; ++i)
      plain.data_mut<int32_t>()[i / each] +=
          int32_t(zero_point) * int32_t(weights->data<int8_t>()[i]);
    return builder.constant(plain);
  }
  Ints others;
  for (int64_t axis = 1; axis < builder.shape(w).rank(); ++axis) others.push_back(axis);
  std::string wide = builder.add("Cast", {builder.get(w)}, {{"to", onnx_dtype(DType::int32)}});
  std::string sums =
      builder.add("ReduceSum", {wide, builder.integers(others)}, {{"keepdims", int64_t(0)}});
  std::string shift = builder.add("Mul", {sums, builder.scalar(double(zero_point), DType::int32)});
  return builder.add("Add", {builder.get(bias), shift});
}

std::string bias_floats(OnnxBuilder& builder, const Node& node) {
  auto x_scale = node.attrs.get<double>("x_scale");
  std::string scales;
  if (const Tensor* known = builder.known_tensor(node.inputs[2])) {
    Tensor products = known->clone();
    auto* values = products.data_mut<float>();
    for (int64_t i = 0; i < products.elements(); ++i)
      values[i] = float(double(values[i]) * x_scale);
    scales = builder.constant(products);
  } else {
    scales =
        builder.add("Mul", {builder.get(node.inputs[2]), builder.scalar(x_scale, DType::float32)});
  }
  return builder.add("DequantizeLinear", {plain_bias(builder, node), scales},
                     {{"axis", int64_t(0)}});
}

// The kernel in a form in which `axis` runs along its filters.
std::string kernel_floats(OnnxBuilder& builder, const Node& node, const Form& form, int64_t axis) {
  return builder.add("DequantizeLinear",
                     {builder.get(node.inputs[1], form), builder.get(node.inputs[2])},
                     {{"axis", axis}});
}

void export_quantized_matmul(OnnxBuilder& builder, const Node& node) {
  std::string x = input_floats(builder, node, builder.get(node.inputs[0]));
  std::string w = kernel_floats(builder, node, {1, 0}, 1), bias = bias_floats(builder, node);
  bool flat = builder.shape(node.inputs[0]).rank() == 2;
  std::string y = flat ? builder.add("Gemm", {x, w, bias})
                       : builder.add("Add", {builder.add("MatMul", {x, w}), bias});
  builder.set(node.outputs[0], stored_result(builder, node, y));
}

void export_quantized_conv2d(OnnxBuilder& builder, const Node& node) {
  const Shape& kernel = builder.shape(node.inputs[1]);
  const auto& ours = node.attrs.get<Ints>("pads");
  Ints pads = {ours[0], ours[2], ours[1], ours[3]};
  std::string x = builder.get(node.inputs[0], channels_first(4));
  bool padded = pads != Ints{0, 0, 0, 0};
  if (padded && node.attrs.get<int64_t>("x_zero_point") != 0) {  // ours is the code 0
    x = builder.add("Pad", {x, builder.integers({0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]}),
                            code_number(builder, 0)});
    pads = {0, 0, 0, 0};
  }
  std::string y =
      builder.add("Conv",
                  {input_floats(builder, node, x), kernel_floats(builder, node, {0, 3, 1, 2}, 0),
                   bias_floats(builder, node)},
                  {{"kernel_shape", Ints{kernel[1], kernel[2]}},
                   {"strides", node.attrs.get<Ints>("strides")},
                   {"pads", pads},
                   {"dilations", node.attrs.get_or("dilation", Ints{1, 1})},
                   {"group", node.attrs.get_or<int64_t>("groups", 1)}});
  builder.set(node.outputs[0], stored_result(builder, node, y), channels_first(4));
}

void export_pair(OnnxBuilder& builder, const Node& node, const char* op) {
  Form form = builder.form(node.inputs[0]);
  std::string a = input_floats(builder, node, builder.get(node.inputs[0], form), "a");
  std::string b = input_floats(builder, node, builder.get(node.inputs[1], form), "b");
  builder.set(node.outputs[0], stored_result(builder, node, builder.add(op, {a, b})), form);
}

void export_quantized_add(OnnxBuilder& builder, const Node& node) {
  export_pair(builder, node, "Add");
}
void export_quantized_multiply(OnnxBuilder& builder, const Node& node) {
  export_pair(builder, node, "Mul");
}

std::string pool(OnnxBuilder& builder, const Node& node, const char* op, const std::string& x) {
  const auto& pads = node.attrs.get<Ints>("pads");
  return builder.add(op, {x},
                     {{"kernel_shape", node.attrs.get<Ints>("window")},
                      {"strides", node.attrs.get<Ints>("strides")},
                      {"pads", Ints{pads[0], pads[2], pads[1], pads[3]}}});
}

void export_quantized_max_pool(OnnxBuilder& builder, const Node& node) {
  std::string x = builder.get(node.inputs[0], channels_first(4));
  builder.set(node.outputs[0], pool(builder, node, "MaxPool", x), channels_first(4));
}

void export_quantized_avg_pool(OnnxBuilder& builder, const Node& node) {
  std::string x = input_floats(builder, node, builder.get(node.inputs[0], channels_first(4)));
  std::string y = pool(builder, node, "AveragePool", x);
  builder.set(node.outputs[0], stored_result(builder, node, y), channels_first(4));
}

void export_quantized_lookup(OnnxBuilder& builder, const Node& node) {
  Form form = builder.form(node.inputs[0]);
  std::string x =
      builder.add("Cast", {builder.get(node.inputs[0], form)}, {{"to", onnx_dtype(DType::int32)}});
  builder.set(node.outputs[0], builder.add("Gather", {builder.get(node.inputs[1]), x}), form);
}

}  // namespace

void add_quantized_exporters(OnnxExporters& exporters) {
  exporters["quantize"] = export_quantize;
  exporters["dequantize"] = export_dequantize;
  exporters["quantized_matmul"] = export_quantized_matmul;
  exporters["quantized_conv2d"] = export_quantized_conv2d;
  exporters["quantized_add"] = export_quantized_add;
  exporters["quantized_multiply"] = export_quantized_multiply;
  exporters["quantized_max_pool2d"] = export_quantized_max_pool;
  exporters["quantized_avg_pool2d"] = export_quantized_avg_pool;
  exporters["quantized_lookup"] = export_quantized_lookup;
}

}  // namespace stoker
