// One builder an op, one family a file.
#pragma once

#include <map>
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
void add_augment_builders(OpBuilders& table);
void add_optimizer_builders(OpBuilders& table);
void add_host_builders(OpBuilders& table);
void add_recurrent_builders(OpBuilders& table);
void add_scan_builders(OpBuilders& table);

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
