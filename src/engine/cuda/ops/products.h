// Products as parts of other ops: what a matmul, a 1×1 convolution and a convolution of patches have
// in common.
#pragma once

#include "engine/cuda/builder.h"
#include "engine/cuda/kernels/direct_conv.h"

namespace stoker::cuda {

// What a product takes along beside its node's bias, in buffers; -1: nothing.
struct ProductExtras {
  int out = -1;     // the result goes there, not into the node's output
  int addend = -1;  // is added; a product without activation
  // In 16 bits the bias is added in a pass of its own, to a product in float32: for small ones
  // cuBLASLt has kernels that round the product first.
  bool bias_apart = false;
};
// y = activation(op(a) · op(b) + bias), with the node's bias (its third input) and activation, into
// its first output. The key's epilogue is set here.
void emit_product(Builder& b, const Node& node, MatmulKey key, int a, int w,
                  const ProductExtras& extras = {});
// y[rows, columns] = op(a) · op(b), with what else `more` says.
MatmulKey product_key(const Builder& b, DType dtype, int64_t rows, int64_t columns, int64_t inner,
                      const MatmulKey& more = {});
// Of a matmul node.
MatmulKey matmul_key(const Builder& b, const Node& node);
// y = op(a) · op(b)
void emit_plain_product(Builder& b, const MatmulKey& key, int a, int w, int y);

// Whether a convolution is a product of patches that cuDNN would fill up with channels of zeros.
bool is_patch_conv(const ConvShape& shape, DType dtype);
void build_patch_conv(Builder& b, const Node& node, const ConvShape& shape);
void build_patch_conv_input_grad(Builder& b, const Node& node, const ConvShape& shape);
void build_patch_conv_weight_grad(Builder& b, const Node& node, const ConvShape& shape);

// Whether a 1×1 convolution has so few pixels that a library of convolutions takes longer to prepare
// than to run it.
bool is_small_product(const ConvShape& shape);
void build_small_product(Builder& b, const Node& node, const ConvShape& shape);
void build_small_product_input_grad(Builder& b, const Node& node, const ConvShape& shape);
void build_small_product_weight_grad(Builder& b, const Node& node, const ConvShape& shape);

// x: [rows, channels] of the node's first operand, and so on, by kernels/tall_product.h. The
// forward has the node's bias and relu; false, and nothing happens, where they do not apply.
struct TallShape {
  int64_t rows = 0, channels = 0, filters = 0;
};
bool build_tall_product(Builder& b, const Node& node, const TallShape& shape);
bool build_tall_input_grad(Builder& b, const Node& node, const TallShape& shape);
bool build_tall_weight_grad(Builder& b, const Node& node, const TallShape& shape);

}  // namespace stoker::cuda
