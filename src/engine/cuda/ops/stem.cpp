// A convolution over one channel and the 2×2 max pooling behind it, in one kernel each way.
#include "engine/cuda/kernels/tensor_stem.h"
#include "engine/cuda/ops/conv_frames.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/updates.h"

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
  Call stem{"own:stem", std::move(reads), {b.define(pool.outputs[0]), places}};
  WeightLayouts layouts;
  if (by_tensor_cores) layouts = b.take_layouts(call.dtype, stem);
  size_t out = stem.reads.size();
  b.emit(std::move(stem), [=](const Launch& at) {
    DirectConv bound = call;
    bound.x = at.get(0);
    bound.w = at.get(1);
    bound.bias = has_bias ? at.get(2) : nullptr;
    bound.out = at.get(out);
    bound.places = at.get<uint8_t>(out + 1);
    by_tensor_cores ? run_tensor_stem(bound, layouts.bind<FewLayouts>(at), at.stream)
                    : run_stem(bound, at.stream);
  });
}

namespace {

// The pooled image's gradient → dw [, db]; what pooling and relu stopped is left out on the way.
struct StemGradient {
  DirectConv call;
  bool by_tensor_cores;
  std::vector<int> reads, writes;  // operands 0–2 and the first two that are written

  StemGradient(Builder& b, const Node& node) {
    const Node& pool_grad = b.graph().nodes()[size_t(b.fusion().stems[b.index_of(node)])];
    call.dtype = b.spec(node.inputs[0]).dtype;
    call.shape = conv_shape_of(node, b.shape(node.inputs[0]), b.shape(node.outputs[0]),
                               b.shape(node.inputs[1]));
    call.pooled = true;
    call.has_bias = node.outputs.size() > 1;
    Uncast image = uncast(b.graph(), b.fusion(), node.inputs[0]);
    call.wide_x = image.wide;
    by_tensor_cores = is_tensor_stem(call.shape, call.dtype);
    reads = {b.input(image.value), b.input(pool_grad.inputs[2]),
             b.attachments().at(pool_grad.inputs[1])};
    writes = {b.scratch(by_tensor_cores ? tensor_stem_partial_bytes(call.shape)
                                        : stem_partial_bytes(call.shape)),
              b.zeroed(tensor_stem_counter_bytes(call.shape))};
  }

  // `written` is the first operand that is.
  DirectConv bind(const Launch& at, size_t written) const {
    DirectConv bound = call;
    bound.x = at.get(0);
    bound.dy = at.get(1);
    bound.places = at.get<uint8_t>(2);
    bound.partials = at.get<float>(written);
    bound.counter = at.get<unsigned>(written + 1);
    return bound;
  }
  void run(const DirectConv& bound, const FewUpdates& updates, cudaStream_t stream) const {
    by_tensor_cores ? run_tensor_stem_weight_grad(bound, updates, stream)
                    : run_stem_weight_grad(bound, updates, stream);
  }
};

}  // namespace

void emit_stem_weight_grad(Builder& b, const Node& node) {
  StemGradient gradient(b, node);
  Call call{"own:stem", gradient.reads, gradient.writes};
  for (int value : node.outputs) call.writes.push_back(b.define(value));
  b.emit(std::move(call), [gradient](const Launch& at) {
    DirectConv bound = gradient.bind(at, 3);
    bound.out = at.get(5);
    bound.bias_out = gradient.call.has_bias ? at.get(6) : nullptr;
    gradient.run(bound, {}, at.stream);
  });
}

void emit_stem_update(Builder& b, const Node& node, const Node& update,
                      std::span<const size_t> which) {
  StemGradient gradient(b, node);
  Call call{"own:stem+update", gradient.reads, gradient.writes};
  call.node = int(b.index_of(node));
  BoundUpdates updates(b, update, which, Gradients::made_here, call);
  size_t written = call.reads.size();
  b.emit(std::move(call), [=](const Launch& at) {
    FewUpdates few;
    static_cast<UpdateOptions&>(few) = updates.options(at);
    few.count = int(updates.count());
    for (size_t i = 0; i < updates.count(); ++i) few.item[i] = updates.item(at, i);
    gradient.run(gradient.bind(at, written), few, at.stream);
  });
}

}  // namespace stoker::cuda
