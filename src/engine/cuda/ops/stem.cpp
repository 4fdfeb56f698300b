// A convolution over one channel and the 2×2 max pooling behind it, in one kernel each way.
#include "engine/cuda/kernels/tensor_stem.h"
#include "engine/cuda/ops/conv_frames.h"
#include "engine/cuda/ops/op_builders.h"

namespace stoker::cuda {

void emit_pooled_stem(Builder& b, const Node& conv, const Node& pool) {
  DirectConv call;
  call.dtype = b.spec(conv.inputs[0]).dtype;
  call.shape = conv_shape_of(conv, b.shape(conv.inputs[0]), b.shape(conv.inputs[1]),
                             b.shape(conv.outputs[0]));
  call.pooled = true;
  bool has_bias = conv.inputs.size() > 2;
  std::vector<int> reads;
  bool* const wide[] = {&call.wide_x, &call.wide_w, &call.wide_bias};
  for (size_t i = 0; i < conv.inputs.size(); ++i) {
    Uncast from = uncast(b.graph(), b.fusion(), conv.inputs[i]);
    reads.push_back(b.input(from.value));
    *wide[i] = from.wide;
  }
  bool by_tensor_cores = is_tensor_stem(call.shape, call.dtype);
  int places = b.kept(size_t(b.shape(pool.outputs[0]).elements()));
  b.attachments()[pool.outputs[0]] = places;
  b.emit({"own:stem", reads, {b.define(pool.outputs[0]), places}},
         [call, has_bias, by_tensor_cores](const Launch& at) {
           DirectConv bound = call;
           size_t next = has_bias ? 3 : 2;
           bound.x = at.get(0);
           bound.w = at.get(1);
           bound.bias = has_bias ? at.get(2) : nullptr;
           bound.out = at.get(next);
           bound.places = at.get<uint8_t>(next + 1);
           by_tensor_cores ? run_tensor_stem(bound, at.stream) : run_direct_conv(bound, at.stream);
         });
}

void emit_pooled_weight_grad(Builder& b, const Node& node, const Node& pool_grad) {
  const Shape& x_shape = b.shape(node.inputs[0]);
  DirectConv call;
  call.dtype = b.spec(node.inputs[0]).dtype;
  call.shape = conv_shape_of(node, x_shape, b.shape(node.outputs[0]), b.shape(node.inputs[1]));
  call.pooled = true;
  Uncast image = uncast(b.graph(), b.fusion(), node.inputs[0]);
  call.wide_x = image.wide;
  int x = b.input(image.value), dy = b.input(pool_grad.inputs[2]);
  int places = b.attachments().at(pool_grad.inputs[1]);
  bool by_tensor_cores = is_tensor_stem(call.shape, call.dtype);
  int partials = b.scratch(by_tensor_cores ? tensor_stem_partial_bytes(call.shape)
                                           : direct_conv_partial_bytes(call.shape, call.dtype));
  int counter = b.zeroed(tensor_stem_counter_bytes(call.shape));
  std::vector<int> writes = {b.define(node.outputs[0]), partials, counter};
  bool has_bias = node.outputs.size() > 1;
  if (has_bias) writes.push_back(b.define(node.outputs[1]));
  b.emit({"own:stem", {x, dy, places}, writes}, [=](const Launch& at) {
    DirectConv bound = call;
    bound.x = at.get(0);
    bound.dy = at.get(1);
    bound.places = at.get<uint8_t>(2);
    bound.out = at.get(3);
    bound.partials = at.get<float>(4);
    bound.counter = at.get<unsigned>(5);
    bound.bias_out = has_bias ? at.get(6) : nullptr;
    by_tensor_cores ? run_tensor_stem_weight_grad(bound, at.stream)
                    : run_direct_conv_weight_grad(bound, at.stream);
  });
}

}  // namespace stoker::cuda
