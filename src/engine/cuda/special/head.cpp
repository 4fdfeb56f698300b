// The head of a classifier (heads.h) as one instruction.
#include "engine/cuda/special/kernels/head.h"

#include "engine/cuda/builder.h"
#include "engine/cuda/special/cases.h"
#include "engine/cuda/special/heads.h"

namespace stoker::cuda {

namespace {

HeadCall call_of(const Builder& b, const Head& head) {
  const Node& matmul = b.graph().nodes()[size_t(head.matmul)];
  const TensorSpec& features = b.spec(matmul.inputs[0]);
  HeadCall call;
  call.dtype = features.dtype;
  call.label_dtype = b.spec(head.labels).dtype;
  call.rows = int(features.shape[0]);
  call.features = int(features.shape[1]);
  call.classes = int(b.shape(head.logits)[1]);
  call.pooled = head.pool >= 0;
  if (!call.pooled) return call;
  const Node& unpool = b.graph().nodes()[size_t(head.unpool)];
  call.relu = unpool.attrs.get_or<std::string>("activation", "") == "relu";
  const Shape& image = b.shape(head.image);
  call.height = int(image[1]);
  call.width = int(image[2]);
  call.channels = int(image[3]);
  return call;
}

void emit_head(Builder& b, const Head& head) {
  HeadCall call = call_of(b, head);
  std::vector<int> reads = {b.input(head.image), b.turned(head.weights), b.input(head.labels),
                            b.input(head.slopes)};
  if (head.bias >= 0) {
    Uncast bias = uncast(b.graph(), b.fusion(), head.bias);
    reads.push_back(b.input(bias.value));
    call.wide_bias = bias.wide;
  }
  const std::vector<Node>& nodes = b.graph().nodes();
  std::vector<int> writes = {b.define(head.logits), b.define(head.losses),
                             b.define(head.logits_grad), b.define(head.features_grad)};
  if (call.pooled) {
    int pooled = nodes[size_t(head.pool)].outputs[0];
    writes.push_back(b.define(pooled));
    b.define_alias(nodes[size_t(head.matmul)].inputs[0], pooled);
    const Node& unpool = nodes[size_t(head.unpool)];
    b.define_alias(unpool.inputs[2], head.features_grad);
    writes.push_back(b.define(unpool.outputs[0]));
  }
  size_t out = reads.size();
  Call emitted{"own:head", std::move(reads), std::move(writes), "head"};
  b.emit(std::move(emitted), [call, out](const Launch& at) {
    HeadCall bound = call;
    bound.image = at.get(0);
    bound.weights = at.get(1);
    bound.labels = at.get(2);
    bound.slopes = at.get<const float>(3);
    bound.bias = out > 4 ? at.get(4) : nullptr;
    bound.logits = at.get(out);
    bound.losses = at.get<float>(out + 1);
    bound.logits_grad = at.get(out + 2);
    bound.features_grad = at.get(out + 3);
    if (call.pooled) {
      bound.pooled_out = at.get(out + 4);
      bound.image_grad = at.get(out + 5);
    }
    run_head(bound, at.stream);
  });
}

// At the first of its nodes.
class HeadNode final : public SpecialNode {
 public:
  explicit HeadNode(Head head) : head_(std::move(head)) {}
  void build(Builder& b, const Node&) const override { emit_head(b, head_); }
  int turned_weights() const override { return head_.weights; }

 private:
  Head head_;
};

}  // namespace

void match_heads(const Readers& readers, Fusion& found) {
  size_t count = readers.graph().nodes().size();
  std::vector<bool> used(count);
  for (size_t i = 0; i < count; ++i)
    used[i] =
        found.into[i] >= 0 || found.tails[i] || found.joins[i] || found.special.contains(int(i));
  for (Head& head : find_heads(readers.graph(), used)) {
    int root = head.root();
    for (int part : {head.matmul, head.loss, head.loss_grad, head.input_grad, head.unpool})
      if (part >= 0 && part != root) found.into[size_t(part)] = root;
    for (int part : head.others) found.into[size_t(part)] = root;
    take_leaf_cast(readers, found, head.weights, 2, root);
    if (head.bias >= 0) take_leaf_cast(readers, found, head.bias, 1, root);
    found.special[root] = std::make_shared<HeadNode>(std::move(head));
  }
}

}  // namespace stoker::cuda
