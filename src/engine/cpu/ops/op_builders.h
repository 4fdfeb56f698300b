// The table of ops that the CPU engine runs: which dtypes of the main operand, and who builds the
// instructions.
#pragma once

#include <string_view>

#include "engine/cpu/builder.h"

namespace stoker::cpu {

struct OpBuilder {
  std::string_view op;
  bool (*takes)(DType);
  void (*build)(Builder&, const Node&);
};

const OpBuilder* find_op_builder(std::string_view op);  // null when there is none

// conv2d.cpp, conv2d_grad.cpp
void build_conv2d(Builder& builder, const Node& node);
void build_conv2d_input_grad(Builder& builder, const Node& node);
void build_conv2d_weight_grad(Builder& builder, const Node& node);
// matmul.cpp
void build_matmul(Builder& builder, const Node& node);
// pooling.cpp
void build_max_pool2d(Builder& builder, const Node& node);
void build_max_pool2d_grad(Builder& builder, const Node& node);
void build_avg_pool2d(Builder& builder, const Node& node);
void build_avg_pool2d_grad(Builder& builder, const Node& node);
// batch_norm.cpp, layer_norm.cpp
void build_batch_norm(Builder& builder, const Node& node);
void build_batch_norm_grad(Builder& builder, const Node& node);
void build_batch_norm_inference(Builder& builder, const Node& node);
void build_layer_norm(Builder& builder, const Node& node);
void build_layer_norm_grad(Builder& builder, const Node& node);
// softmax.cpp
void build_softmax(Builder& builder, const Node& node);
void build_log_softmax(Builder& builder, const Node& node);
void build_softmax_grad(Builder& builder, const Node& node);
void build_log_softmax_grad(Builder& builder, const Node& node);
void build_sparse_softmax_cross_entropy(Builder& builder, const Node& node);
void build_sparse_softmax_cross_entropy_grad(Builder& builder, const Node& node);
void build_softmax_cross_entropy(Builder& builder, const Node& node);
void build_softmax_cross_entropy_grad(Builder& builder, const Node& node);
void build_sigmoid_cross_entropy(Builder& builder, const Node& node);
// elementwise.cpp, broadcast.cpp, cast.cpp
void build_unary(Builder& builder, const Node& node);
void build_unary_grad(Builder& builder, const Node& node);
void build_binary(Builder& builder, const Node& node);
void build_compare(Builder& builder, const Node& node);
void build_select(Builder& builder, const Node& node);
void build_cast(Builder& builder, const Node& node);
void build_moving_average(Builder& builder, const Node& node);
// reduction.cpp
void build_reduce(Builder& builder, const Node& node);
void build_argmax(Builder& builder, const Node& node);
// shape.cpp
void build_reshape(Builder& builder, const Node& node);
void build_transpose(Builder& builder, const Node& node);
void build_concat(Builder& builder, const Node& node);
void build_slice(Builder& builder, const Node& node);
void build_pad(Builder& builder, const Node& node);
void build_broadcast_to(Builder& builder, const Node& node);
// lookup.cpp
void build_gather(Builder& builder, const Node& node);
void build_gather_grad(Builder& builder, const Node& node);
void build_one_hot(Builder& builder, const Node& node);
void build_in_top_k(Builder& builder, const Node& node);
// dropout.cpp
void build_dropout(Builder& builder, const Node& node);
// optimizer.cpp
void build_sgd_update(Builder& builder, const Node& node);
void build_adam_update(Builder& builder, const Node& node);
void build_rmsprop_update(Builder& builder, const Node& node);
void build_clip_scales(Builder& builder, const Node& node);
void build_loss_scale_update(Builder& builder, const Node& node);
// host.cpp
void build_host_call(Builder& builder, const Node& node);

}  // namespace stoker::cpu
