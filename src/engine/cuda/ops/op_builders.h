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
void add_normalization_builders(OpBuilders& table);
void add_softmax_builders(OpBuilders& table);
void add_lookup_builders(OpBuilders& table);
void add_optimizer_builders(OpBuilders& table);
void add_host_builders(OpBuilders& table);

// value = activation(value + bias) in place, for what a library's own epilogue cannot do. `bias`
// is a buffer, or -1.
void emit_epilogue(Builder& b, const Node& node, int buffer, int value, int bias);
// batch_norm's statistics are made; this makes its result with what follows it.
void emit_norm_tail(Builder& b, const Fusion::NormTail& tail, int value);

}  // namespace stoker::cuda
