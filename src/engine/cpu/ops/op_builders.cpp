#include "engine/cpu/ops/op_builders.h"

#include <algorithm>
#include <array>

namespace stoker::cpu {

namespace {

bool floats(DType dtype) { return dtype == DType::float32; }
bool integers(DType dtype) { return dtype == DType::int32 || dtype == DType::int64; }
bool numbers(DType dtype) { return floats(dtype) || integers(dtype); }
bool comparable(DType dtype) {
  return numbers(dtype) || dtype == DType::uint8 || dtype == DType::bool_;
}
bool booleans(DType dtype) { return dtype == DType::bool_; }
// Only moved, never computed with: float16 and bfloat16 too.
bool anything(DType dtype) { return dtype != DType::bytes; }
bool widenable(DType dtype) { return is_floating(dtype); }

// 16-bit floats are moved and converted; this host has no arithmetic on them that would be worth
// it.
constexpr auto kOps = std::to_array<OpBuilder>({
    {"unary", floats, build_unary},
    {"unary_grad", floats, build_unary_grad},
    {"binary", numbers, build_binary},
    {"compare", comparable, build_compare},
    {"select", booleans, build_select},
    {"cast", anything, build_cast},
    {"moving_average", floats, build_moving_average},
    {"reduce", numbers, build_reduce},
    {"argmax", numbers, build_argmax},
    {"reshape", anything, build_reshape},
    {"identity", anything, build_reshape},
    {"transpose", anything, build_transpose},
    {"concat", anything, build_concat},
    {"slice", anything, build_slice},
    {"pad", anything, build_pad},
    {"broadcast_to", anything, build_broadcast_to},
    {"matmul", floats, build_matmul},
    {"conv2d", floats, build_conv2d},
    {"conv2d_input_grad", floats, build_conv2d_input_grad},
    {"conv2d_weight_grad", floats, build_conv2d_weight_grad},
    {"max_pool2d", floats, build_max_pool2d},
    {"max_pool2d_grad", floats, build_max_pool2d_grad},
    {"avg_pool2d", floats, build_avg_pool2d},
    {"avg_pool2d_grad", floats, build_avg_pool2d_grad},
    {"batch_norm", floats, build_batch_norm},
    {"batch_norm_grad", floats, build_batch_norm_grad},
    {"batch_norm_inference", floats, build_batch_norm_inference},
    {"layer_norm", floats, build_layer_norm},
    {"layer_norm_grad", floats, build_layer_norm_grad},
    {"softmax", floats, build_softmax},
    {"log_softmax", floats, build_log_softmax},
    {"softmax_grad", floats, build_softmax_grad},
    {"log_softmax_grad", floats, build_log_softmax_grad},
    {"sparse_softmax_cross_entropy", floats, build_sparse_softmax_cross_entropy},
    {"sparse_softmax_cross_entropy_grad", floats, build_sparse_softmax_cross_entropy_grad},
    {"softmax_cross_entropy", floats, build_softmax_cross_entropy},
    {"softmax_cross_entropy_grad", floats, build_softmax_cross_entropy_grad},
    {"sigmoid_cross_entropy", floats, build_sigmoid_cross_entropy},
    {"gather", anything, build_gather},
    {"gather_grad", integers, build_gather_grad},
    {"one_hot", integers, build_one_hot},
    {"in_top_k", floats, build_in_top_k},
    {"dropout", floats, build_dropout},
    {"sgd_update", floats, build_sgd_update},
    {"adam_update", floats, build_adam_update},
    {"rmsprop_update", floats, build_rmsprop_update},
    {"clip_scales", widenable, build_clip_scales},
    {"loss_scale_update", floats, build_loss_scale_update},
    {"host_call", anything, build_host_call},
});

}  // namespace

const OpBuilder* find_op_builder(std::string_view op) {
  auto found = std::ranges::find(kOps, op, &OpBuilder::op);
  return found == kOps.end() ? nullptr : &*found;
}

}  // namespace stoker::cpu
