// A convolution over one channel and the 2×2 max pooling behind it, in one kernel each way.
#include "engine/cuda/special/kernels/tensor_stem.h"

#include <algorithm>

#include "engine/cuda/ops/conv_frames.h"
#include "engine/cuda/ops/op_builders.h"
#include "engine/cuda/ops/updates.h"
#include "engine/cuda/special/cases.h"
#include "engine/pooled_conv.h"

namespace stoker::cuda {

namespace {

// --- forwards ---

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

// --- backwards ---

// The pooled image's gradient → dw [, db]; what pooling and relu stopped is left out on the way.
struct StemGradient {
  DirectConv call;
  bool by_tensor_cores;
  std::vector<int> reads, writes;  // operands 0–2 and the first two that are written

  StemGradient(Builder& b, const Node& node, const Node& pool_grad) {
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

void emit_stem_weight_grad(Builder& b, const Node& node, const Node& pool_grad) {
  StemGradient gradient(b, node, pool_grad);
  Call call{"own:stem", gradient.reads, gradient.writes};
  for (int value : node.outputs) call.writes.push_back(b.define(value));
  b.emit(std::move(call), [gradient](const Launch& at) {
    DirectConv bound = gradient.bind(at, 3);
    bound.out = at.get(5);
    bound.bias_out = gradient.call.has_bias ? at.get(6) : nullptr;
    gradient.run(bound, {}, at.stream);
  });
}

void emit_stem_update(Builder& b, const Node& node, const Node& pool_grad, const Node& update,
                      std::span<const size_t> which) {
  StemGradient gradient(b, node, pool_grad);
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

// --- finding them ---

// At a max_pool2d.
class StemForward final : public SpecialNode {
 public:
  explicit StemForward(int conv) : conv_(conv) {}
  void build(Builder& b, const Node& pool) const override {
    emit_pooled_stem(b, b.graph().nodes()[size_t(conv_)], pool);
  }
  int includes() const override { return conv_; }

 private:
  int conv_;
};

// At a conv2d_weight_grad.
class StemBackward final : public SpecialNode {
 public:
  explicit StemBackward(int pool_grad) : pool_grad_(pool_grad) {}
  void build(Builder& b, const Node& node) const override {
    emit_stem_weight_grad(b, node, b.graph().nodes()[size_t(pool_grad_)]);
  }
  void build_with_update(Builder& b, const Node& node, const Node& update,
                         std::span<const size_t> which) const override {
    emit_stem_update(b, node, b.graph().nodes()[size_t(pool_grad_)], update, which);
  }
  int includes() const override { return pool_grad_; }

 private:
  int pool_grad_;
};

bool takes(const Graph& graph, const Node& conv) {
  if (!conv.is("conv2d")) return false;
  const Shape &x = graph.spec(conv.inputs[0]).shape, &w = graph.spec(conv.inputs[1]).shape;
  return x[3] == 1 && w[0] == 3 && w[1] == 3 && w[3] % 8 == 0 && w[3] <= 2048 &&
         conv.attrs.get<Ints>("strides") == Ints{1, 1} &&
         conv.attrs.get<Ints>("pads") == Ints{0, 0, 0, 0} &&
         conv.attrs.get_or<Ints>("dilation", {1, 1}) == Ints{1, 1} && x[1] > 3 && x[2] > 3;
}

// The optimiser's update that alone reads all these gradients, if there is one behind them.
const Node* only_update(const Readers& readers, const Node& gradients) {
  for (const Node& update : readers.graph().nodes()) {
    if (!is_optimizer_update(update) || &update < &gradients) continue;
    UpdateLayout layout = update_layout(update);
    auto takes_it = [&](int gradient) {
      for (size_t i = 0; i < layout.count; ++i)
        if (update.inputs[layout.gradient(i)] == gradient) return readers.uses(gradient) == 1;
      return false;
    };
    if (!layout.scaled && std::ranges::all_of(gradients.outputs, takes_it)) return &update;
  }
  return nullptr;
}

void add_gradient(const Readers& readers, Fusion& found, const PooledConv& stem) {
  int node = readers.index_of(stem.weight_grad), pool_grad = readers.index_of(stem.pool_grad);
  found.into[size_t(pool_grad)] = node;
  found.special[node] = std::make_shared<StemBackward>(pool_grad);
  if (const Node* update = only_update(readers, *stem.weight_grad))
    found.into[size_t(node)] = found.into[size_t(pool_grad)] = readers.index_of(update);
}

}  // namespace

void match_stems(const Readers& readers, Fusion& found) {
  for (const Node& conv : readers.graph().nodes()) {
    if (!takes(readers.graph(), conv)) continue;
    std::optional<PooledConv> stem = find_pooled_conv(readers, conv);
    if (!stem) continue;
    bool trains = stem->pool_grad != nullptr;
    if (trains) add_gradient(readers, found, *stem);
    int root = readers.index_of(stem->pool), index = readers.index_of(&conv);
    found.into[size_t(index)] = root;
    found.special[root] = std::make_shared<StemForward>(index);
    take_leaf_cast(readers, found, conv.inputs[0], trains ? 2 : 1, root);
    for (size_t i = 1; i < conv.inputs.size(); ++i)
      take_leaf_cast(readers, found, conv.inputs[i], 1, root);
  }
}

}  // namespace stoker::cuda
