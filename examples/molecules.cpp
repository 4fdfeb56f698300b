// Graphs of different sizes in one batch, trained by fit: the nodes of all molecules are one table, an
// edge names two of its rows, and every node knows its molecule. Attention decides which neighbours a
// node listens to (GAT, Veličković et al., 2018).
#include <cmath>
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kElements = 4;

// Rings and chains of random atoms; what is to be learnt: how many atoms have two equal neighbours.
// The batch: targets [molecules, 1], atoms [nodes], edges [2, edges], molecule of each node [nodes].
Batch draw_molecules(Rng& rng, int64_t molecules) {
  std::vector<int32_t> atoms, owners, from, to;
  std::vector<float> targets;
  for (int64_t molecule = 0; molecule < molecules; ++molecule) {
    int64_t size = rng.integer(4, 9), first = int64_t(atoms.size()), count = 0;
    bool ring = rng.uniform() < 0.5F;
    for (int64_t i = 0; i < size; ++i) {
      atoms.push_back(int32_t(rng.integer(0, kElements)));
      owners.push_back(int32_t(molecule));
    }
    auto bond = [&](int64_t a, int64_t b) {
      from.insert(from.end(), {int32_t(first + a), int32_t(first + b)});
      to.insert(to.end(), {int32_t(first + b), int32_t(first + a)});
    };
    for (int64_t i = 0; i + 1 < size; ++i) bond(i, i + 1);
    if (ring) bond(size - 1, 0);
    for (int64_t i = ring ? 0 : 1; i < (ring ? size : size - 1); ++i)
      count +=
          atoms[size_t(first + (i + size - 1) % size)] == atoms[size_t(first + (i + 1) % size)];
    targets.push_back(float(count));
  }
  auto nodes = int64_t(atoms.size()), edges = int64_t(from.size());
  from.insert(from.end(), to.begin(), to.end());
  return {Tensor::from(targets, {molecules, 1}), Tensor::from(atoms, {nodes}),
          Tensor::from(from, {2, edges}), Tensor::from(owners, {nodes})};
}

class GraphAttention : public LayerBase {
 public:
  explicit GraphAttention(int64_t units)
      : values_(units, {.name = "values"}),
        own_(units, {.name = "own"}),
        scores_(1, {.name = "scores"}),
        mix_(units, {.activation = "relu", .name = "mix"}) {}
  std::string kind() const override { return "GraphAttention"; }

  Values call(const Values& inputs, CallContext&) override {
    Value nodes = inputs[0], from = inputs[1][0], to = inputs[1][1];
    int64_t count = nodes.shape()[0];
    Value values = values_(nodes);
    Value heard = ops::take(values, from, 0);  // [edges, units]
    Value scores = scores_(ops::tanh(heard + ops::take(own_(nodes), to, 0)));
    // Softmax over the edges that end in one node.
    Value best = ops::stop_gradient(ops::segment_max(scores, to, count));
    Value weights = ops::exp(scores - ops::take(best, to, 0));
    Value sums = ops::segment_sum(weights, to, count);
    Value mean = ops::segment_sum(heard * weights, to, count) / ops::maximum(sums, 1e-6);
    Value largest = ops::segment_max(heard, to, count);
    return {mix_(ops::concatenate({nodes, mean, largest}))};
  }

 private:
  Dense values_, own_, scores_, mix_;
};

}  // namespace

int main() {
  set_seed(1);
  Rng rng(1);
  std::vector<Batch> train, test;
  for (int i = 0; i < 24; ++i) train.push_back(draw_molecules(rng, 32));
  for (int i = 0; i < 4; ++i) test.push_back(draw_molecules(rng, 32));

  Embedding embed(kElements, 16);
  Layer first = make_layer<GraphAttention>(24), second = make_layer<GraphAttention>(24);
  Sequential head({Input({24}), Dense(24, {.activation = "relu"}), Dense(1)});
  auto predict = [&](const Values& batch) {
    Value x = first({embed(batch[1]), batch[2]});
    x = second({x, batch[2]});
    return ops::segment_sum(head(x), batch[3], batch[0].shape()[0]);  // [molecules, 1]
  };
  compute([&] { return predict({test[0][0], test[0][1], test[0][2], test[0][3]}); });  // builds

  std::vector<Variable> weights;
  for (const Layer& layer : {Layer(embed), first, second, Layer(head)})
    for (const Variable& weight : layer.trainable_weights()) weights.push_back(weight);
  Adam adam({.learning_rate = 5e-3});
  Metric error("mean_absolute_error");
  head.compile({.optimizer = adam,
                .train_step = [&](const Values& batch) -> StepLogs {
                  Value predicted = predict(batch), loss = mean_squared_error(batch[0], predicted);
                  adam.apply(gradients(loss, weights), weights);
                  return {{"loss", loss}};
                },
                .test_step = [&](const Values& batch) -> StepLogs {
                  error.update(batch[0], predict(batch));
                  return {{"error", error}};
                }});
  History history =
      head.fit(train, {.epochs = 20, .validation_data = ValidationData(test), .verbose = 2});

  double mean = 0, spread = 0;
  for (const Batch& batch : test) mean += batch[0].mean() / double(test.size());
  for (const Batch& batch : test)
    for (int64_t i = 0; i < 32; ++i) spread += std::abs(batch[0].at(i) - mean) / 128;
  std::printf("error on new molecules %.2f; guessing the mean: %.2f\n", history["val_error"].back(),
              spread);
  return history["val_error"].back() < 0.6 * spread ? 0 : 1;
}
