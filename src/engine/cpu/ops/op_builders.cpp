#include "engine/cpu/ops/op_builders.h"

namespace stoker::cpu {

const OpBuilder* find_op_builder(std::string_view op) {
  static const OpBuilders table = [] {
    OpBuilders all;
    add_elementwise_builders(all);
    add_broadcast_builders(all);
    add_cast_builders(all);
    add_reduction_builders(all);
    add_shape_builders(all);
    add_pad_builders(all);
    add_matmul_builders(all);
    add_conv2d_builders(all);
    add_conv2d_grad_builders(all);
    add_pooling_builders(all);
    add_batch_norm_builders(all);
    add_layer_norm_builders(all);
    add_softmax_builders(all);
    add_lookup_builders(all);
    add_order_builders(all);
    add_matrix_builders(all);
    add_dropout_builders(all);
    add_augment_builders(all);
    add_optimizer_builders(all);
    add_clip_builders(all);
    add_host_builders(all);
    add_recurrent_builders(all);
    add_scan_builders(all);
    add_attention_builders(all);
    add_decoding_builders(all);
    add_collective_builders(all);
    add_quantized_builders(all);
    add_quantized_product_builders(all);
    return all;
  }();
  auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace stoker::cpu
