// unary, binary, compare, select, cast.
#include <cmath>
#include <numbers>

#include "graph/unary.h"
#include "interop/onnx/exporters.h"

namespace stoker {

namespace {

// One elementwise function of x, whose elements are `dtype`.
struct UnaryFunction {
  OnnxBuilder& builder;
  std::string x;
  DType dtype;
  double alpha, beta;

  std::string op(const char* name) const { return builder.add(name, {x}); }
  std::string op_alpha(const char* name) const {
    return builder.add(name, {x}, {{"alpha", float(alpha)}});
  }
  std::string number(double value) const { return builder.scalar(value, dtype); }
  std::string two(const char* name, const std::string& a, const std::string& b) const {
    return builder.add(name, {a, b});
  }
  std::string clip(double low, double high) const {
    return builder.add("Clip", {x, number(low), number(high)});
  }
  // x > alpha ? x : beta
  std::string threshold() const {
    return builder.add("Where", {two("Greater", x, number(alpha)), x, number(beta)});
  }
  std::string shrink(double bias) const {
    return builder.add("Shrink", {x}, {{"lambd", float(alpha)}, {"bias", float(bias)}});
  }
  std::string half_of_one_plus(const std::string& y) const {
    return two("Mul", two("Mul", x, number(0.5)), two("Add", y, number(1)));
  }
  std::string gelu() const {
    std::string scaled = two("Mul", x, number(std::numbers::sqrt2 / 2));
    return half_of_one_plus(builder.add("Erf", {scaled}));
  }
  std::string gelu_tanh() const {
    std::string cube = two("Mul", x, two("Mul", x, x));
    std::string inner = two("Add", x, two("Mul", cube, number(0.044715)));
    std::string scaled = two("Mul", inner, number(std::sqrt(2 / std::numbers::pi)));
    return half_of_one_plus(builder.add("Tanh", {scaled}));
  }
  std::string squareplus() const {
    std::string root = builder.add("Sqrt", {two("Add", two("Mul", x, x), number(alpha))});
    return two("Mul", two("Add", x, root), number(0.5));
  }
  std::string log_sigmoid() const {
    return builder.add("Neg", {builder.add("Softplus", {op("Neg")})});
  }

  std::string apply(UnaryFn fn) const;
};

std::string UnaryFunction::apply(UnaryFn fn) const {
  switch (fn) {
    case UnaryFn::abs:
      return op("Abs");
    case UnaryFn::neg:
      return op("Neg");
    case UnaryFn::exp:
      return op("Exp");
    case UnaryFn::log:
      return op("Log");
    case UnaryFn::log1p:
      return builder.add("Log", {two("Add", x, number(1))});
    case UnaryFn::sqrt:
      return op("Sqrt");
    case UnaryFn::rsqrt:
      return builder.add("Reciprocal", {op("Sqrt")});
    case UnaryFn::square:
      return two("Mul", x, x);
    case UnaryFn::reciprocal:
      return op("Reciprocal");
    case UnaryFn::sign:
      return op("Sign");
    case UnaryFn::floor:
      return op("Floor");
    case UnaryFn::sin:
      return op("Sin");
    case UnaryFn::cos:
      return op("Cos");
    case UnaryFn::erf:
      return op("Erf");
    case UnaryFn::clip:
      return clip(alpha, beta);
    case UnaryFn::relu:
      return op("Relu");
    case UnaryFn::relu6:
      return clip(0, 6);
    case UnaryFn::leaky_relu:
      return op_alpha("LeakyRelu");
    case UnaryFn::elu:
      return op_alpha("Elu");
    case UnaryFn::celu:
      return op_alpha("Celu");
    case UnaryFn::selu:
      return op("Selu");
    case UnaryFn::gelu:
      return gelu();
    case UnaryFn::gelu_tanh:
      return gelu_tanh();
    case UnaryFn::sigmoid:
      return op("Sigmoid");
    case UnaryFn::hard_sigmoid:
      return builder.add("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
    case UnaryFn::silu:
      return two("Mul", x, op("Sigmoid"));
    case UnaryFn::hard_silu:
      return op("HardSwish");
    case UnaryFn::softplus:
      return op("Softplus");
    case UnaryFn::softsign:
      return op("Softsign");
    case UnaryFn::tanh:
      return op("Tanh");
    case UnaryFn::hard_tanh:
      return clip(-1, 1);
    case UnaryFn::mish:
      return two("Mul", x, builder.add("Tanh", {op("Softplus")}));
    case UnaryFn::log_sigmoid:
      return log_sigmoid();
    case UnaryFn::squareplus:
      return squareplus();
    case UnaryFn::hard_shrink:
      return shrink(0);
    case UnaryFn::soft_shrink:
      return shrink(alpha);
    case UnaryFn::tanh_shrink:
      return two("Sub", x, op("Tanh"));
    case UnaryFn::threshold:
      return threshold();
    case UnaryFn::round:
      return op("Round");
    case UnaryFn::expm1:
      return two("Sub", op("Exp"), number(1));
    case UnaryFn::atan:
      return op("Atan");
    case UnaryFn::erfinv:
      break;  // refused before
  }
  return x;  // not reached: the switch is complete
}

void export_unary(OnnxBuilder& builder, const Node& node) {
  int x = node.inputs[0];
  if (node.is("unary", "erfinv")) builder.refuse(node, "ONNX has no inverse of erf");
  Form form = builder.form(x);
  UnaryFunction function{builder, builder.get(x, form), builder.spec(x).dtype,
                         node.attrs.get_or("alpha", 0.0), node.attrs.get_or("beta", 0.0)};
  builder.set(node.outputs[0], function.apply(unary_info(node.attrs.get<std::string>("fn")).fn),
              form);
}

// --- broadcasting: operands meet in one form ----------------------------------------------------

// That of an operand that has all axes; plain where another operand cannot follow.
Form common_form(const OnnxBuilder& builder, const Node& node) {
  int rank = builder.shape(node.outputs[0]).rank();
  Form plain = plain_form(rank), common = plain;
  for (int id : node.inputs) {
    int own = builder.shape(id).rank();
    if (builder.known(id) || own == 0) continue;
    if (own != rank) return plain;
    if (common == plain) common = builder.form(id);
  }
  return common;
}

std::string operand(OnnxBuilder& builder, int id, const Form& form) {
  int rank = builder.shape(id).rank();
  bool as_it_is = rank == 0 || form == plain_form(int(form.size()));
  return builder.get(id, as_it_is ? plain_form(rank) : form);
}

// Rounded down. ONNX's Div truncates integers, and its Mod has the sign of b for them alone.
std::string floor_divided(OnnxBuilder& builder, bool integer, const std::string& a,
                          const std::string& b) {
  if (!integer) return builder.add("Floor", {builder.add("Div", {a, b})});
  return builder.add("Div", {builder.add("Sub", {a, builder.add("Mod", {a, b})}), b});
}

void refuse_bits(const OnnxBuilder& builder, const Node& node, const std::string& fn) {
  if (fn.starts_with("shift_"))
    builder.refuse(node, "ONNX shifts the bits of unsigned integers only");
  if (fn.starts_with("bit_") && builder.opset() < 18)
    builder.refuse(node, "ONNX has operations on bits from opset 18 on; export with .opset = 18");
}

void export_binary(OnnxBuilder& builder, const Node& node) {
  static const std::map<std::string_view, const char*> kNames = {
      {"add", "Add"},          {"sub", "Sub"},           {"mul", "Mul"},
      {"div", "Div"},          {"pow", "Pow"},           {"maximum", "Max"},
      {"minimum", "Min"},      {"mod", "Mod"},           {"bit_and", "BitwiseAnd"},
      {"bit_or", "BitwiseOr"}, {"bit_xor", "BitwiseXor"}};
  const auto& fn = node.attrs.get<std::string>("fn");
  refuse_bits(builder, node, fn);
  bool integer = is_integer(builder.spec(node.inputs[0]).dtype);
  Form form = common_form(builder, node);
  std::string a = operand(builder, node.inputs[0], form);
  std::string b = operand(builder, node.inputs[1], form), y;
  if (fn == "floor_div" || (fn == "mod" && !integer))
    y = floor_divided(builder, integer, a, b);
  else
    y = builder.add(kNames.at(fn), {a, b});
  if (fn == "mod" && !integer) y = builder.add("Sub", {a, builder.add("Mul", {y, b})});
  builder.set(node.outputs[0], y, form);
}

void export_compare(OnnxBuilder& builder, const Node& node) {
  static const std::map<std::string_view, const char*> kNames = {
      {"equal", "Equal"},     {"not_equal", "Equal"},
      {"less", "Less"},       {"less_equal", "LessOrEqual"},
      {"greater", "Greater"}, {"greater_equal", "GreaterOrEqual"}};
  const auto& fn = node.attrs.get<std::string>("fn");
  DType dtype = builder.spec(node.inputs[0]).dtype;
  Form form = common_form(builder, node);
  std::vector<std::string> operands;
  for (int id : node.inputs) {
    std::string name = operand(builder, id, form);
    if (dtype == DType::bool_ || dtype == DType::uint8)  // ONNX does not order bools
      name = builder.add("Cast", {name}, {{"to", onnx_dtype(DType::int32)}});
    operands.push_back(std::move(name));
  }
  std::string result = builder.add(kNames.at(fn), operands);
  if (fn == "not_equal") result = builder.add("Not", {result});
  builder.set(node.outputs[0], result, form);
}

// ONNX Runtime 1.31 has no Where of bools.
void export_select(OnnxBuilder& builder, const Node& node) {
  Form form = common_form(builder, node);
  std::vector<std::string> operands;
  for (int id : node.inputs) operands.push_back(operand(builder, id, form));
  bool bools = builder.spec(node.outputs[0]).dtype == DType::bool_;
  if (bools)
    for (size_t i : {1, 2})
      operands[i] = builder.add("Cast", {operands[i]}, {{"to", onnx_dtype(DType::uint8)}});
  std::string y = builder.add("Where", operands);
  if (bools) y = builder.add("Cast", {y}, {{"to", onnx_dtype(DType::bool_)}});
  builder.set(node.outputs[0], y, form);
}

void export_cast(OnnxBuilder& builder, const Node& node) {
  Form form = builder.form(node.inputs[0]);
  int64_t to = onnx_dtype(builder.spec(node.outputs[0]).dtype);
  std::string x = builder.get(node.inputs[0], form);
  builder.set(node.outputs[0], builder.add("Cast", {x}, {{"to", to}}), form);
}

}  // namespace

std::string add_activation(OnnxBuilder& builder, const Node& node, const std::string& value) {
  auto name = node.attrs.get_or<std::string>("activation", "");
  if (name.empty()) return value;
  UnaryFunction function{builder, value, builder.spec(node.outputs[0]).dtype,
                         node.attrs.get_or("alpha", 0.0), 0.0};
  return function.apply(unary_info(name).fn);
}

void add_elementwise_exporters(OnnxExporters& exporters) {
  exporters["unary"] = export_unary;
  exporters["binary"] = export_binary;
  exporters["compare"] = export_compare;
  exporters["select"] = export_select;
  exporters["cast"] = export_cast;
}

}  // namespace stoker
