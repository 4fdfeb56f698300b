// The builders of the CPU engine: one per op, one file per family.
#pragma once

#include <map>
#include <string_view>

#include "engine/cpu/builder.h"

namespace stoker::cpu {

struct OpBuilder {
  bool (*takes)(DType);  // as the main operand's dtype
  void (*build)(Builder&, const Node&);
};
using OpBuilders = std::map<std::string_view, OpBuilder>;

const OpBuilder* find_op_builder(std::string_view op);  // null when there is none

void add_elementwise_builders(OpBuilders& table);
void add_broadcast_builders(OpBuilders& table);
void add_cast_builders(OpBuilders& table);
void add_reduction_builders(OpBuilders& table);
void add_shape_builders(OpBuilders& table);
void add_pad_builders(OpBuilders& table);
void add_matmul_builders(OpBuilders& table);
void add_conv2d_builders(OpBuilders& table);
void add_conv2d_grad_builders(OpBuilders& table);
void add_pooling_builders(OpBuilders& table);
void add_batch_norm_builders(OpBuilders& table);
void add_layer_norm_builders(OpBuilders& table);
void add_softmax_builders(OpBuilders& table);
void add_lookup_builders(OpBuilders& table);
void add_order_builders(OpBuilders& table);
void add_matrix_builders(OpBuilders& table);
void add_dropout_builders(OpBuilders& table);
void add_augment_builders(OpBuilders& table);
void add_optimizer_builders(OpBuilders& table);
void add_clip_builders(OpBuilders& table);
void add_host_builders(OpBuilders& table);
void add_recurrent_builders(OpBuilders& table);
void add_scan_builders(OpBuilders& table);
void add_attention_builders(OpBuilders& table);

// Sums of squares of the gradients that a clip_scales node reads, each behind the node that makes it.
void await_gradients(Builder& builder);
// A gradient as float32, in `layout` where it is float32 already.
int gradient_as_float(Builder& builder, int gradient, const Layout& layout);

// Whether the engine runs this attention or attention_grad itself; else as a composition.
bool has_attention_kernel(const Node& node);
void add_decoding_builders(OpBuilders& table);
void add_collective_builders(OpBuilders& table);
void add_quantized_builders(OpBuilders& table);
void add_quantized_product_builders(OpBuilders& table);

// A product of matrices [M, K] · [K, N] (+ bias) as an instruction. `bias` may be -1: none.
struct MatmulOperands {
  int a, b, y;
  Desc a_desc, b_desc, y_desc;
  int bias = -1;
  Desc bias_desc = {};
  bool bfloat16 = false;  // round a and b, which are float32 and plain, to bfloat16 first
};
void emit_matmul(Builder& b, const MatmulOperands& operands,
                 const dnnl::primitive_attr& attr = attr_with_scratchpad(), std::string op = {});

// --- which dtypes a builder takes. 16-bit floats are moved, converted and, bfloat16 alone,
// multiplied (sixteen_bits.h); all other arithmetic is on float32.
inline bool floats(DType dtype) { return dtype == DType::float32; }
inline bool products(DType dtype) { return floats(dtype) || dtype == DType::bfloat16; }
inline bool integers(DType dtype) { return dtype == DType::int32 || dtype == DType::int64; }
inline bool numbers(DType dtype) { return floats(dtype) || integers(dtype); }
inline bool comparable(DType dtype) {
  return numbers(dtype) || dtype == DType::uint8 || dtype == DType::bool_;
}
inline bool booleans(DType dtype) { return dtype == DType::bool_; }
inline bool widenable(DType dtype) { return is_floating(dtype); }
inline bool anything(DType dtype) { return dtype != DType::bytes; }  // only moved

}  // namespace stoker::cpu
