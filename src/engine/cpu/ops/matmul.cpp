#include <algorithm>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/activation.h"
#include "engine/cpu/ops/few_rows.h"
#include "engine/cpu/ops/gemm.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

// [.., M, N] → [.. · M, N]
Shape as_matrix(const Shape& shape) {
  return {shape[-1] == 0 ? 0 : shape.elements() / shape[-1], shape[-1]};
}

// The operands of y = a · b with equal ranks: oneDNN wants a two-dimensional b of a batch with
// leading ones.
struct Product {
  Shape a, b, y;

  Product(const Shape& a_shape, const Shape& b_shape, const Shape& y_shape, bool transpose_a)
      : a(a_shape), b(b_shape), y(y_shape) {
    if (b.rank() != 2 || a.rank() == 2) return;
    if (!transpose_a) {
      a = as_matrix(a);
      y = as_matrix(y);
    } else {
      while (b.rank() < a.rank()) b = b.prepend(1);
    }
  }
};

Desc bias_desc(const Shape& y) {
  Shape shape = y;
  for (int axis = 0; axis + 1 < y.rank(); ++axis) shape.set(axis, 1);
  return matrix_desc(shape, false);
}

// The gradient of a dense layer's weights on own kernels, where those are faster.
bool build_gemm(Builder& b, const Node& node, const Product& product) {
  bool transposed =
      node.attrs.get_or("transpose_a", false) && !node.attrs.get_or("transpose_b", false);
  if (product.a.rank() != 2 || !transposed || node.inputs.size() > 2 ||
      b.spec(node.inputs[0]).dtype != DType::float32 ||
      !node.attrs.get_or<std::string>("activation", "").empty())
    return false;
  Gemm gemm{product.y[0], product.y[1], product.a[0]};
  if (!gemm.pays()) return false;
  int left = b.plain(node.inputs[0]), right = b.plain(node.inputs[1]);
  int y = b.define(node.outputs[0]);
  int scratch = b.scratch(size_t(gemm.scratch_floats(team_size())) * sizeof(float));
  b.emit({own_kernel() + ":gemm", {left, right}, {y, scratch}}, [=](Pointers p) {
    gemm.run(p.in<float>(0), p.in<float>(1), p.out<float>(2), p.out<float>(3));
  });
  return true;
}

// a: [.., M, K], b: [K, N] or [.., K, N] [, bias: [N]] → y: [.., M, N]
void build_matmul(Builder& b, const Node& node) {
  int left = node.inputs[0], right = node.inputs[1], result = node.outputs[0];
  bool with_bias = node.inputs.size() > 2;
  bool transpose_a = node.attrs.get_or("transpose_a", false),
       transpose_b = node.attrs.get_or("transpose_b", false);
  Product product(b.shape(left), b.shape(right), b.shape(result), transpose_a);
  if (build_gemm(b, node, product) || build_few_rows(b, node)) return;
  Desc a_desc = with_dtype(matrix_desc(product.a, transpose_a), b.spec(left).dtype),
       b_desc = with_dtype(matrix_desc(product.b, transpose_b), b.spec(right).dtype);
  Desc y_desc = matrix_desc(product.y, false);

  Activation activation(node.attrs);
  dnnl::primitive_attr attr = attr_with_scratchpad();
  activation.fuse_into(attr, b, node);
  MatmulOperands operands{b.plain(left), b.plain(right), -1, a_desc, b_desc, y_desc};
  if (with_bias) {
    operands.bias = b.plain(node.inputs[2]);
    operands.bias_desc = bias_desc(product.y);
  }
  operands.y = b.define(result);
  emit_matmul(b, operands, attr);
  activation.emit(b, operands.y, b.spec(result), {});
}

}  // namespace

namespace {

// A plain float32 operand as bfloat16.
int emit_rounded(Builder& b, int from, const Desc& desc) {
  int64_t n = 1;
  for (int64_t extent : dims_of(desc)) n *= extent;
  int to = b.scratch(size_t(n) * sizeof(uint16_t));
  b.emit({own_kernel(), {from}, {to}, "cast"}, [=](Pointers p) {
    parallel_for(
        n, kGrain,
        [&](int64_t begin, int64_t end) {
          kernels().to_bfloat16(p.in<float>(0) + begin, p.out<uint16_t>(1) + begin, end - begin);
        },
        64);
  });
  return to;
}

}  // namespace

void emit_matmul(Builder& b, const MatmulOperands& operands, const dnnl::primitive_attr& attr,
                 std::string op) {
  // oneDNN divides by extents.
  int64_t elements = 1;
  for (int64_t extent : dims_of(operands.y_desc)) elements *= extent;
  if (elements == 0) return;
  if (dims_of(operands.a_desc).back() == 0 && operands.bias < 0)
    return b.emit({own_kernel(), {}, {operands.y}, std::move(op)},
                  [=](Pointers p) { std::fill_n(p.out<float>(0), elements, 0.0F); });
  if (operands.bfloat16) {
    MatmulOperands rounded = operands;
    rounded.bfloat16 = false;
    rounded.a = emit_rounded(b, operands.a, operands.a_desc);
    rounded.b = emit_rounded(b, operands.b, operands.b_desc);
    rounded.a_desc = with_dtype(operands.a_desc, DType::bfloat16);
    rounded.b_desc = with_dtype(operands.b_desc, DType::bfloat16);
    return emit_matmul(b, rounded, attr, std::move(op));
  }
  bool with_bias = operands.bias >= 0;
  auto describe_product = [=, a = operands.a_desc, w = operands.b_desc, y = operands.y_desc,
                           bias = operands.bias_desc] {
    return with_bias ? describe<dnnl::matmul>(attr, a, w, bias, y)
                     : describe<dnnl::matmul>(attr, a, w, y);
  };
  auto desc = describe_product();
  // Its parts belong to numbered threads: on one thread all of them are another primitive's.
  auto make_alone = [describe_product] {
    auto alone = describe_product();
    return AloneForm{dnnl::matmul(alone), alone.scratchpad_desc()};
  };
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, operands.a, operands.a_desc},
                                     {DNNL_ARG_WEIGHTS, operands.b, operands.b_desc}};
  if (with_bias) arguments.push_back({DNNL_ARG_BIAS, operands.bias, operands.bias_desc});
  arguments.push_back({DNNL_ARG_DST, operands.y, operands.y_desc, true});
  b.emit_primitive<dnnl::matmul>(desc, arguments, std::move(op), make_alone);
}

void add_matmul_builders(OpBuilders& table) { table["matmul"] = {products, build_matmul}; }

}  // namespace stoker::cpu
