// One builder an op, one family a file.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string_view>

#include "engine/cuda/builder.h"

namespace stoker::cuda {

struct OpBuilder {
  void (*build)(Builder& builder, const Node& node);
};
using OpBuilders = std::map<std::string_view, OpBuilder>;

const OpBuilder* find_op_builder(std::string_view op);

void add_pointwise_builders(OpBuilders& table);
void add_reduction_builders(OpBuilders& table);
void add_shape_builders(OpBuilders& table);
void add_matmul_builders(OpBuilders& table);
void add_convolution_builders(OpBuilders& table);
void add_pooling_builders(OpBuilders& table);
void add_batch_norm_builders(OpBuilders& table);
void add_layer_norm_builders(OpBuilders& table);
void add_softmax_builders(OpBuilders& table);
void add_lookup_builders(OpBuilders& table);
void add_order_builders(OpBuilders& table);
void add_matrix_builders(OpBuilders& table);
void add_augment_builders(OpBuilders& table);
void add_optimizer_builders(OpBuilders& table);
void add_host_builders(OpBuilders& table);
void add_recurrent_builders(OpBuilders& table);
void add_scan_builders(OpBuilders& table);
void add_attention_builders(OpBuilders& table);

// False where attention must be composed of other ops: the gradient of a bias.
bool has_attention_kernel(const Node& node);

// layer_norm_grad; with an `addend`, its dx and that value make up the value `sum`.
void emit_layer_norm_grad(Builder& b, const Node& node, int addend, int sum);
void add_decoding_builders(OpBuilders& table);
void add_quantized_builders(OpBuilders& table);

// A node as C++ on copies of its operands: they come to the host, its outputs go back. The captured
// graph ends before it and goes on after it.
using OnHost = std::function<void(std::span<const Tensor> inputs, std::span<Tensor> outputs)>;
void emit_through_host(Builder& b, const Node& node, std::string name, OnHost run);

// out = activation(from + bias) for what a library's own epilogue cannot do; `from` may be `out`,
// or a buffer of float32 so that nothing is rounded before the end. `bias` is a buffer, or -1.
struct Epilogue {
  int from = -1;
  DType from_dtype = DType::float32;
  int bias = -1;
  int out = -1;
};
void emit_epilogue(Builder& b, const Node& node, const Epilogue& epilogue);
void build_conv_weight_grad(Builder& b, const Node& node);
// batch_norm's statistics are made; this makes its result with what follows it.
void emit_norm_tail(Builder& b, const Fusion::NormTail& tail, int value);
// batch_norm_grad whose dy is the sum of two gradients through such a tail's relu.
void emit_joined_norm_grad(Builder& b, const Node& node, const Fusion::Join& join);

}  // namespace stoker::cuda
