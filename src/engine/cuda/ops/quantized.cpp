// Ops on numbers in eight bits. Products are cuBLASLt's, of int8 with int8 to int32: of matrices, and
// of convolutions through their windows. Convolutions in groups have a kernel of their own.
#include "graph/ops/quantized.h"

#include "engine/cuda/kernels/quantized.h"
#include "engine/cuda/kernels/tile_conv.h"
#include "engine/cuda/ops/conv_frames.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/pool_call.h"

namespace stoker::cuda {

namespace {

CodeTarget code_target(const Attrs& attrs) {
  quantized::Target y(attrs);
  return {y.floats, y.scale, y.zero_point, y.low, y.high};
}

int64_t whole(int64_t bytes) { return (bytes + 15) / 16 * 16; }

void build_quantize(Builder& b, const Node& node) {
  auto scale = float(node.attrs.get<double>("scale"));
  auto zero_point = node.attrs.get<int64_t>("zero_point");
  int64_t n = b.shape(node.inputs[0]).elements();
  int x = b.input(node.inputs[0]), y = b.define(node.outputs[0]);
  b.emit({"own:quantize", {x}, {y}}, [=](const Launch& at) {
    run_quantize(at.get<const float>(0), at.get<uint8_t>(1), n, scale, float(zero_point),
                 at.stream);
  });
}

void build_dequantize(Builder& b, const Node& node) {
  auto scale = float(node.attrs.get<double>("scale"));
  auto zero_point = node.attrs.get<int64_t>("zero_point");
  int64_t n = b.shape(node.inputs[0]).elements();
  int x = b.input(node.inputs[0]), y = b.define(node.outputs[0]);
  b.emit({"own:quantize", {x}, {y}}, [=](const Launch& at) {
    run_dequantize(at.get<const uint8_t>(0), at.get<float>(1), n, scale, int(zero_point),
                   at.stream);
  });
}

void build_quantized_add(Builder& b, const Node& node) {
  CodeSum sum;
  sum.to = code_target(node.attrs);
  sum.a_zero = int(node.attrs.get<int64_t>("a_zero_point"));
  sum.b_zero = int(node.attrs.get<int64_t>("b_zero_point"));
  sum.a_factor = float(node.attrs.get<double>("a_scale") / sum.to.scale);
  sum.b_factor = float(node.attrs.get<double>("b_scale") / sum.to.scale);
  int64_t n = b.shape(node.inputs[0]).elements();
  int first = b.input(node.inputs[0]), second = b.input(node.inputs[1]);
  int y = b.define(node.outputs[0]);
  b.emit({"own:int8", {first, second}, {y}}, [=](const Launch& at) {
    run_quantized_add(sum, at.get<const uint8_t>(0), at.get<const uint8_t>(1), at.get(2), n,
                      at.stream);
  });
}

void build_quantized_multiply(Builder& b, const Node& node) {
  quantized::Target y(node.attrs);
  CodeProduct product;
  product.to = code_target(node.attrs);
  product.a_zero = int(node.attrs.get<int64_t>("a_zero_point"));
  product.b_zero = int(node.attrs.get<int64_t>("b_zero_point"));
  product.factor = quantized::product_multiplier(node.attrs.get<double>("a_scale"),
                                                 node.attrs.get<double>("b_scale"), y);
  const Shape& shape = b.shape(node.inputs[0]);
  int64_t n = shape.elements();
  if (b.shape(node.inputs[1]).elements() != n) {
    product.sample = n / shape[0];
    product.channels = shape[-1];
  }
  int first = b.input(node.inputs[0]), second = b.input(node.inputs[1]);
  int result = b.define(node.outputs[0]);
  b.emit({"own:int8", {first, second}, {result}}, [=](const Launch& at) {
    run_quantized_multiply(product, at.get<const uint8_t>(0), at.get<const uint8_t>(1), at.get(2),
                           n, at.stream);
  });
}

void build_quantized_lookup(Builder& b, const Node& node) {
  int64_t n = b.shape(node.inputs[0]).elements();
  int x = b.input(node.inputs[0]), table = b.input(node.inputs[1]);
  int y = b.define(node.outputs[0]);
  b.emit({"own:int8", {x, table}, {y}}, [=](const Launch& at) {
    run_quantized_lookup(at.get<const uint8_t>(0), at.get<const uint8_t>(1), at.get<uint8_t>(2), n,
                         at.stream);
  });
}

void build_quantized_pool(Builder& b, const Node& node) {
  CodePool pool;
  pool.call = pool_call(b, node, node.inputs[0], node.outputs[0]);
  pool.mean = node.is("quantized_avg_pool2d");
  if (pool.mean) {
    pool.to = code_target(node.attrs);
    pool.x_scale = node.attrs.get<double>("x_scale");
    pool.x_zero = int(node.attrs.get<int64_t>("x_zero_point"));
  }
  int x = b.input(node.inputs[0]), y = b.define(node.outputs[0]);
  b.emit({"own:int8", {x}, {y}}, [pool](const Launch& at) {
    CodePool bound = pool;
    bound.call.x = at.get(0);
    bound.call.out = at.get(1);
    run_quantized_pool(bound, at.stream);
  });
}

// --- products ---

// rows: [count, padded] of signed codes, in a buffer; w: [filters, inner].
void emit_code_product(Builder& b, const Node& node, int rows, int64_t count, int64_t inner) {
  int64_t filters = b.shape(node.inputs[2]).elements(), padded = whole(inner);
  int64_t columns = whole(filters);
  int w = b.input(node.inputs[1]), scales = b.input(node.inputs[2]), bias = b.input(node.inputs[3]);
  int sums_of_w = b.scratch(size_t(filters) * sizeof(int32_t));
  b.emit({"own:int8_sums", {w}, {sums_of_w}}, [=](const Launch& at) {
    run_byte_sums(at.get<const int8_t>(0), at.get<int32_t>(1), filters, inner, at.stream);
  });
  int kernel = w;
  if (padded != inner || columns != filters) {
    kernel = b.scratch(size_t(columns * padded));
    b.emit({"own:int8_rows", {w}, {kernel}}, [=](const Launch& at) {
      // Filters beyond the last are never looked at.
      run_pad_bytes(at.get(0), at.get(1), filters, inner, padded, false, at.stream);
    });
  }
  MatmulKey key;
  key.dtype = DType::int8;
  key.rows = count;
  key.columns = columns;
  key.inner = padded;
  key.stride_a = count * padded;
  key.transpose_b = true;
  std::shared_ptr<const MatmulPlan> plan = b.shared().matmul_plans.find(key, b.shared().pool);
  int sums = b.scratch(size_t(count * columns) * sizeof(int32_t));
  int workspace = b.scratch(std::max<size_t>(plan->workspace(), 1));
  b.emit({"cublaslt:int8", {rows, kernel}, {sums, workspace}}, [plan](const Launch& at) {
    plan->run(at.device, at.stream,
              {.a = at.get(0), .b = at.get(1), .y = at.get(2), .workspace = at.get(3)});
  });
  CodeFinish finish{count, filters, columns, node.attrs.get<double>("x_scale"),
                    code_target(node.attrs)};
  int y = b.define(node.outputs[0]);
  b.emit({"own:int8_finish", {sums, sums_of_w, scales, bias}, {y}}, [finish](const Launch& at) {
    run_finish_product(finish, at.get<const int32_t>(0), at.get<const int32_t>(1),
                       at.get<const float>(2), at.get<const int32_t>(3), at.get(4), at.stream);
  });
}

int signed_rows(Builder& b, int x, int64_t count, int64_t inner) {
  int64_t padded = whole(inner);
  int rows = b.scratch(size_t(count * padded));
  b.emit({"own:int8_rows", {x}, {rows}}, [=](const Launch& at) {
    run_pad_bytes(at.get(0), at.get(1), count, inner, padded, true, at.stream);
  });
  return rows;
}

void build_quantized_matmul(Builder& b, const Node& node) {
  const Shape &w = b.shape(node.inputs[1]), &y = b.shape(node.outputs[0]);
  if (y.elements() == 0) return void(b.define(node.outputs[0]));
  int64_t count = y.elements() / w[0];
  emit_code_product(b, node, signed_rows(b, b.input(node.inputs[0]), count, w[1]), count, w[1]);
}

// conv_shape_of() takes kernels as [kh, kw, C / groups, filters].
ConvShape code_conv_shape(const Builder& b, const Node& node) {
  const Shape& w = b.shape(node.inputs[1]);
  return conv_shape_of(node, b.shape(node.inputs[0]), {w[1], w[2], w[3], w[0]},
                       b.shape(node.outputs[0]));
}

void build_quantized_conv2d(Builder& b, const Node& node) {
  if (b.shape(node.outputs[0]).elements() == 0) return void(b.define(node.outputs[0]));
  ConvShape shape = code_conv_shape(b, node);
  int64_t count = int64_t(shape.batch) * shape.out_height * shape.out_width;
  int64_t inner = int64_t(shape.kernel_y) * shape.kernel_x * shape.channels;
  int x = b.input(node.inputs[0]);
  if (shape.groups > 1) {
    CodeFinish finish{count, shape.filters, shape.filters, node.attrs.get<double>("x_scale"),
                      code_target(node.attrs)};
    int w = b.input(node.inputs[1]), scales = b.input(node.inputs[2]),
        bias = b.input(node.inputs[3]), y = b.define(node.outputs[0]);
    b.emit({"own:int8_conv", {x, w, scales, bias}, {y}}, [=](const Launch& at) {
      run_direct_code_conv(shape, finish, at.get<const uint8_t>(0), at.get<const int8_t>(1),
                           at.get<const float>(2), at.get<const int32_t>(3), at.get(4), at.stream);
    });
    return;
  }
  bool pixels = shape.groups == 1 && is_pixel_product(shape);
  int rows = -1;
  if (pixels) {
    rows = signed_rows(b, x, count, inner);
  } else {
    int64_t padded = whole(inner);
    rows = b.scratch(size_t(count * padded));
    b.emit({"own:int8_windows", {x}, {rows}}, [=](const Launch& at) {
      run_byte_patches(shape, at.get<const uint8_t>(0), at.get<int8_t>(1), padded, at.stream);
    });
  }
  emit_code_product(b, node, rows, count, inner);
}

}  // namespace

void add_quantized_builders(OpBuilders& table) {
  table["quantize"] = {build_quantize};
  table["dequantize"] = {build_dequantize};
  table["quantized_add"] = {build_quantized_add};
  table["quantized_multiply"] = {build_quantized_multiply};
  table["quantized_lookup"] = {build_quantized_lookup};
  table["quantized_max_pool2d"] = table["quantized_avg_pool2d"] = {build_quantized_pool};
  table["quantized_matmul"] = {build_quantized_matmul};
  table["quantized_conv2d"] = {build_quantized_conv2d};
}

}  // namespace stoker::cuda
