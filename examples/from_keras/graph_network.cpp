// Keras's "Node classification with graph neural networks": papers that cite each other are alike.
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kNodes = 200, kEdges = 1200, kClasses = 4, kWords = 8;

struct Citations {
  Tensor words, edges, classes;
};

// Nearly all edges lie within a class; the words alone say little.
Citations draw_citations() {
  Rng rng(1);
  Tensor words(DType::float32, {kNodes, kWords}), edges(DType::int32, {2, kEdges});
  Tensor classes(DType::int32, {kNodes});
  for (int64_t node = 0; node < kNodes; ++node) {
    classes.data_mut<int32_t>()[node] = int32_t(node % kClasses);
    for (int64_t word = 0; word < kWords; ++word)
      words.data_mut<float>()[node * kWords + word] =
          rng.normal() + (word == node % kClasses ? 0.7F : 0.0F);
  }
  for (int64_t edge = 0; edge < kEdges; ++edge) {
    int64_t from = rng.integer(0, kNodes);
    int64_t to = rng.integer(0, kNodes / kClasses) * kClasses + from % kClasses;
    if (rng.uniform() < 0.1F) to = rng.integer(0, kNodes);
    edges.data_mut<int32_t>()[edge] = int32_t(from);
    edges.data_mut<int32_t>()[kEdges + edge] = int32_t(to);
  }
  return {words, edges, classes};
}

// Idea: 31 lines in Keras.
class GraphConvolution : public LayerBase {
 public:
  explicit GraphConvolution(int64_t units)
      : prepare_(units, {.activation = "gelu"}), update_(units, {.activation = "gelu"}) {}
  std::string kind() const override { return "GraphConvolution"; }

  Values call(const Values& inputs, CallContext&) override {
    Value nodes = inputs[0], edges = inputs[1];
    int64_t count = nodes.shape()[0];
    Value messages = prepare_(ops::take(nodes, edges[0], 0));
    Value sums = ops::segment_sum(messages, edges[1], count);
    Value counts = ops::segment_sum(ops::ones_like(messages), edges[1], count);
    return {update_(ops::concatenate({nodes, sums / ops::maximum(counts, 1.0)}, 1))};
  }

 private:
  Dense prepare_, update_;
};

// Data:
}  // namespace

int main() {
  set_seed(1);
  Citations graph = draw_citations();
  // Idea:
  Layer first = make_layer<GraphConvolution>(16), second = make_layer<GraphConvolution>(16);
  Dense logits(kClasses);
  auto predict = [&](const Value& words, const Value& edges) {
    Value x = first({words, edges});
    return logits(x + second({x, edges}));
  };
  // Half of the classes are known.
  Tensor known(DType::float32, {kNodes});
  for (int64_t i = 0; i < kNodes; ++i) known.data_mut<float>()[i] = i < kNodes / 2 ? 1.0F : 0.0F;
  Adam optimizer({.learning_rate = 5e-3});
  Loss crossentropy = SparseCategoricalCrossentropy({.from_logits = true});
  auto train_step = function([&](Value words, Value edges, Value classes, Value weights) {
    Value loss = crossentropy(classes, predict(words, edges), weights);
    std::vector<Variable> all;
    for (const Layer& layer : {first, second, Layer(logits)})
      for (const Variable& each : layer.trainable_weights()) all.push_back(each);
    optimizer.apply(gradients(loss, all), all);
    return loss;
  });
  for (int step = 0; step < 60; ++step) train_step(graph.words, graph.edges, graph.classes, known);
  Tensor found = compute([&] { return predict(graph.words, graph.edges); }).argmax();

  // Shown:
  int right = 0;
  for (int64_t i = kNodes / 2; i < kNodes; ++i) right += int(found.at(i) == graph.classes.at(i));
  std::printf("%d of %d classes that were not known are right\n", right, int(kNodes / 2));
  return right > 70 ? 0 : 1;
}
