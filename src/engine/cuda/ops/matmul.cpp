#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/products.h"
#include "engine/guard_sees.h"

namespace stoker::cuda {

MatmulKey product_key(const Builder& b, DType dtype, int64_t rows, int64_t columns, int64_t inner,
                      const MatmulKey& more) {
  MatmulKey key = more;
  key.dtype = dtype;
  key.rows = rows;
  key.columns = columns;
  key.inner = inner;
  key.stride_a = rows * inner;
  key.tf32 = b.options().tf32 && dtype == DType::float32;
  return key;
}

MatmulKey matmul_key(const Builder& b, const Node& node) {
  const Shape &a = b.shape(node.inputs[0]), &w = b.shape(node.inputs[1]),
              &y = b.shape(node.outputs[0]);
  MatmulKey key;
  key.dtype = b.spec(node.inputs[0]).dtype;
  key.transpose_a = node.attrs.get_or("transpose_a", false);
  key.transpose_b = node.attrs.get_or("transpose_b", false);
  key.rows = y[-2];
  key.columns = y[-1];
  key.inner = a[key.transpose_a ? -2 : -1];
  key.tf32 = b.options().tf32 && key.dtype == DType::float32;
  for (int axis = 0; axis < y.rank() - 2; ++axis) key.batch *= y[axis];
  if (w.rank() == 2 && !key.transpose_a) {  // one tall product
    key.rows *= key.batch;
    key.batch = 1;
  }
  key.stride_a = key.rows * key.inner;
  key.stride_b = w.rank() == 2 ? 0 : key.columns * key.inner;
  return key;
}

namespace {

// A product of few columns, over many rows: x · w, dy · wᵀ or xᵀ · dy.
bool build_tall(Builder& b, const Node& node, const MatmulKey& key) {
  if (key.batch != 1) return false;
  bool plain = node.inputs.size() == 2 && node.attrs.get_or<std::string>("activation", "").empty();
  if (!key.transpose_a && !key.transpose_b)
    return build_tall_product(b, node, {key.rows, key.inner, key.columns});
  if (!plain || (key.transpose_a && key.transpose_b)) return false;
  if (key.transpose_b) return build_tall_input_grad(b, node, {key.rows, key.columns, key.inner});
  return build_tall_weight_grad(b, node, {key.inner, key.rows, key.columns});
}

void build_matmul(Builder& b, const Node& node) {
  MatmulKey key = matmul_key(b, node);
  if (key.batch * key.rows * key.columns == 0) {
    b.define(node.outputs[0]);
    return;
  }
  if (key.inner == 0) {
    int bias = node.inputs.size() > 2 ? b.input(node.inputs[2]) : -1;
    int y = b.define(node.outputs[0]);
    size_t bytes = bytes_of(b.spec(node.outputs[0]));
    b.emit({"own:fill", {}, {y}}, [bytes](const Launch& at) {
      check(cudaMemsetAsync(at.get(0), 0, bytes, at.stream), "zeroing");
    });
    return emit_epilogue(b, node, {y, key.dtype, bias, y});
  }
  if (build_tall(b, node, key)) return;
  int a = b.input(node.inputs[0]), w = b.input(node.inputs[1]);
  emit_product(b, node, key, a, w);
}

}  // namespace

void emit_plain_product(Builder& b, const MatmulKey& key, int a, int w, int y) {
  auto plan = b.shared().matmul_plans.find(key, b.shared().pool);
  int workspace = b.scratch(plan->workspace());
  b.emit({"cublaslt", {a, w}, {y, workspace}}, [plan](const Launch& at) {
    plan->run(at.device, at.stream,
              {.a = at.get(0), .b = at.get(1), .y = at.get(2), .workspace = at.get(3)});
  });
}

void emit_product(Builder& b, const Node& node, MatmulKey key, int a, int w,
                  const ProductExtras& extras) {
  bool has_bias = node.inputs.size() > 2;
  auto activation = node.attrs.get_or<std::string>("activation", "");
  int bias = has_bias ? b.input(node.inputs[2]) : -1;
  int y = extras.out >= 0 ? extras.out : b.define(node.outputs[0]);
  // cuBLASLt adds a bias and takes relu; other functions are a pass of their own, over float32. So
  // is relu where only an own kernel keeps NaN.
  bool apart = extras.bias_apart && has_bias && key.dtype != DType::float32;
  key.relu = activation == "relu" && guard_sees(b.graph(), node) && !apart;
  bool in_epilogue = (activation.empty() && !apart) || key.relu;
  key.bias = has_bias && in_epilogue;
  key.wide = !in_epilogue && key.dtype != DType::float32;
  key.addend = extras.addend >= 0;
  auto plan = b.shared().matmul_plans.find(key, b.shared().pool);
  int workspace = b.scratch(plan->workspace());
  int product =
      key.wide ? b.scratch(size_t(b.shape(node.outputs[0]).elements()) * sizeof(float)) : y;
  std::vector<int> reads = {a, w};
  if (key.bias) reads.push_back(bias);
  if (key.addend) reads.push_back(extras.addend);
  size_t next = reads.size();
  Call call{"cublaslt", reads, {product, workspace}};
  call.node = b.index_of(node);  // also where another node's kernel takes it along
  b.emit(std::move(call), [=](const Launch& at) {
    plan->run(at.device, at.stream,
              {.a = at.get(0),
               .b = at.get(1),
               .bias = key.bias ? at.get(2) : nullptr,
               .addend = key.addend ? at.get(next - 1) : nullptr,
               .y = at.get(next),
               .workspace = at.get(next + 1)});
  });
  if (!in_epilogue) emit_epilogue(b, node, {product, DType::float32, bias, y});
}

void add_matmul_builders(OpBuilders& table) { table["matmul"] = {build_matmul}; }

}  // namespace stoker::cuda
