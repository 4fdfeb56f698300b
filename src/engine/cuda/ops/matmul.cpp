#include "engine/cuda/kernels/narrow.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/guard_sees.h"

namespace stoker::cuda {

namespace {

MatmulKey key_of(const Builder& b, const Node& node) {
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

bool is_narrow(const MatmulKey& key) {
  return key.batch == 1 && !key.transpose_a && !key.transpose_b &&
         key.columns <= NarrowProduct::kMostColumns && key.rows <= NarrowProduct::kMostRows;
}

// a, w [, bias] → y
void emit_narrow(Builder& b, const MatmulKey& key, std::vector<int> reads, int y) {
  NarrowProduct call;
  call.dtype = key.dtype;
  call.rows = key.rows;
  call.inner = key.inner;
  call.columns = key.columns;
  call.relu = key.relu;
  b.emit({"own:narrow", std::move(reads), {y}}, [call, has_bias = key.bias](const Launch& at) {
    NarrowProduct bound = call;
    bound.a = at.get(0);
    bound.w = at.get(1);
    bound.bias = has_bias ? at.get(2) : nullptr;
    bound.y = at.get(has_bias ? 3 : 2);
    run_narrow_product(bound, at.stream);
  });
}

void emit_narrow_gradient(Builder& b, const Node& node) {
  NarrowGradient call;
  const TensorSpec &a = b.spec(node.inputs[0]), &dy = b.spec(node.inputs[1]);
  call.dtype = a.dtype;
  call.rows = int(a.shape[0]);
  call.inner = int(a.shape[1]);
  call.columns = int(dy.shape[1]);
  int sum = b.fusion().bias_sums[size_t(b.node_index())];
  std::vector<int> reads = {b.input(node.inputs[0]), b.input(node.inputs[1])};
  std::vector<int> writes = {b.define(node.outputs[0])};
  if (sum >= 0) writes.push_back(b.define(b.graph().nodes()[size_t(sum)].outputs[0]));
  b.emit({"own:narrow", std::move(reads), std::move(writes)},
         [call, has_bias = sum >= 0](const Launch& at) {
           NarrowGradient bound = call;
           bound.a = at.get(0);
           bound.dy = at.get(1);
           bound.weights = at.get(2);
           bound.bias = has_bias ? at.get(3) : nullptr;
           run_narrow_gradient(bound, at.stream);
         });
}

void build_matmul(Builder& b, const Node& node) {
  if (const auto& head = b.fusion().heads[size_t(b.node_index())]) return emit_head(b, *head);
  if (is_narrow_gradient(b.graph(), node)) return emit_narrow_gradient(b, node);
  MatmulKey key = key_of(b, node);
  bool has_bias = node.inputs.size() > 2;
  auto activation = node.attrs.get_or<std::string>("activation", "");
  int a = b.input(node.inputs[0]), w = b.input(node.inputs[1]);
  int bias = has_bias ? b.input(node.inputs[2]) : -1, y = b.define(node.outputs[0]);
  if (key.batch * key.rows * key.columns == 0) return;
  if (key.inner == 0) {
    size_t bytes = bytes_of(b.spec(node.outputs[0]));
    b.emit({"own:fill", {}, {y}}, [bytes](const Launch& at) {
      check(cudaMemsetAsync(at.get(0), 0, bytes, at.stream), "zeroing");
    });
    return emit_epilogue(b, node, {y, key.dtype, bias, y});
  }
  // cuBLASLt adds a bias and takes relu; other functions are a pass of their own, over float32. So
  // is relu where only an own kernel keeps NaN.
  key.relu = activation == "relu" && (is_narrow(key) || guard_sees(b.graph(), node));
  bool in_epilogue = activation.empty() || key.relu;
  key.bias = has_bias && in_epilogue;
  key.wide = !in_epilogue && key.dtype != DType::float32;
  if (in_epilogue && is_narrow(key)) {
    std::vector<int> operands = {a, w};
    if (key.bias) operands.push_back(bias);
    return emit_narrow(b, key, std::move(operands), y);
  }
  auto plan = b.shared().matmul_plans.find(key, *b.shared().device);
  int workspace = b.scratch(plan->workspace());
  int product =
      key.wide ? b.scratch(size_t(b.shape(node.outputs[0]).elements()) * sizeof(float)) : y;
  std::vector<int> reads = {a, w};
  if (key.bias) reads.push_back(bias);
  b.emit({"cublaslt", reads, {product, workspace}}, [plan, with_bias = key.bias](const Launch& at) {
    size_t next = with_bias ? 3 : 2;
    plan->run(at.device, at.stream, at.get(0), at.get(1), with_bias ? at.get(2) : nullptr,
              at.get(next), at.get(next + 1));
  });
  if (!in_epilogue) emit_epilogue(b, node, {product, DType::float32, bias, y});
}

}  // namespace

void add_matmul_builders(OpBuilders& table) { table["matmul"] = {build_matmul}; }

}  // namespace stoker::cuda
