#include "engine/networks.h"

#include <cmath>

#include "support/draw.h"

namespace stoker::test {

namespace {

constexpr uint64_t kSeed = 11;

// Adds variables with names and reproducible contents to a network.
class Builder {
 public:
  explicit Builder(Network& network) : network_(network) {}

  Variable weights(const std::string& name, const Shape& shape, double range) {
    Rng rng = named_rng(kSeed, name);
    return add({name, draw({DType::float32, shape}, {-range, range}, rng)});
  }
  Variable filled(const std::string& name, const TensorSpec& spec, double value) {
    return add({name,
                Tensor::full(spec.shape, value, spec.dtype),
                {.trainable = false, .category = MemoryCategory::optimizer}});
  }
  std::vector<Variable> like(const std::vector<Variable>& parameters, const std::string& prefix) {
    std::vector<Variable> moments;
    for (const Variable& p : parameters) moments.push_back(filled(prefix + p.name(), p.spec(), 0));
    return moments;
  }
  Variable add(Variable variable) {
    network_.variables.push_back(variable);
    return variable;
  }

 private:
  Network& network_;
};

Value mean_loss(Network& network, const Value& logits, const Value& labels) {
  Graph::Scope scope(network.graph, "loss");
  Value loss = ops::mean(ops::sparse_softmax_cross_entropy(logits, labels));
  network.graph.output(loss, "loss");
  network.graph.output(logits, "logits");
  return loss;
}

void clipped_sgd(Network& network, Builder& builder, const Value& loss,
                 const std::vector<Variable>& parameters) {
  Graph& graph = network.graph;
  Values found = gradients(loss, parameters);
  std::vector<Variable> m = builder.like(parameters, "m/");
  Graph::Scope scope(graph, "optimizer"), phase(graph, Phase::update);
  Values scales = apply("clip_scales", found, {{"mode", "global"}, {"max_norm", 0.5}});
  Values operands = {graph.constant(Tensor(0.05F)), scales[0]};
  for (size_t i = 0; i < parameters.size(); ++i)
    for (const Value& value : {graph.variable(parameters[i]), found[i], graph.variable(m[i])})
      operands.push_back(value);
  Values updated = apply("sgd_update", operands,
                         {{"momentum", 0.9},
                          {"nesterov", true},
                          {"weight_decay", 0.0},
                          {"clipvalue", 0.0},
                          {"scaled", true}});
  for (size_t i = 0; i < parameters.size(); ++i) {
    graph.assign(parameters[i], updated[2 * i]);
    graph.assign(m[i], updated[2 * i + 1]);
  }
}

}  // namespace

std::vector<Variable> add_adam(Graph& graph, const std::vector<Variable>& parameters,
                               const Values& gradients, const AdamStep& step) {
  constexpr Variable::Options kState{.trainable = false, .category = MemoryCategory::optimizer};
  Graph::Scope scope(graph, "optimizer"), phase(graph, Phase::update);
  std::vector<Variable> added = {{"iterations", Tensor::zeros({}, DType::int64), kState}};
  Value iterations = graph.variable(added[0]);
  Values operands = {graph.constant(Tensor(step.learning_rate)), iterations};
  std::vector<Variable> updates;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Variable& p = parameters[i];
    Variable m("m/" + p.name(), Tensor::zeros(p.shape()), kState),
        v("v/" + p.name(), Tensor::zeros(p.shape()), kState);
    added.insert(added.end(), {m, v});
    updates.insert(updates.end(), {p, m, v});
    operands.insert(operands.end(),
                    {graph.variable(p), gradients[i], graph.variable(m), graph.variable(v)});
  }
  Values updated = apply("adam_update", operands,
                         {{"beta_1", 0.9},
                          {"beta_2", 0.999},
                          {"epsilon", step.epsilon},
                          {"amsgrad", false},
                          {"weight_decay", step.weight_decay},
                          {"clipvalue", step.clipvalue},
                          {"scaled", false}});
  for (size_t i = 0; i < updates.size(); ++i) graph.assign(updates[i], updated[i]);
  graph.assign(added[0], iterations + 1.0);
  return added;
}

std::vector<Tensor> Network::batch(int step) const {
  Rng rng(kSeed, uint64_t(step));
  return {draw(inputs[0], {}, rng), draw(inputs[1], {0, double(classes)}, rng)};
}

std::unique_ptr<Network> small_cnn() {
  auto network = std::make_unique<Network>();
  network->inputs = {{DType::float32, {4, 12, 12, 3}}, {DType::int64, {4}}};
  Graph& graph = network->graph;
  Builder builder(*network);
  Value x = graph.input("x", network->inputs[0]), labels = graph.input("y", network->inputs[1]);
  std::vector<Variable> parameters;
  auto convolution = [&](const std::string& name, int64_t filters) {
    Graph::Scope scope(graph, name);
    double range = std::sqrt(6.0 / double(9 * x.shape()[3]));
    parameters.push_back(builder.weights(name + "/kernel", {3, 3, x.shape()[3], filters}, range));
    parameters.push_back(builder.weights(name + "/bias", {filters}, 0.1));
    Value y = ops::conv2d(x, parameters[parameters.size() - 2],
                          {.padding = ops::same_padding(x.shape(), {3, 3}, {1, 1})});
    x = ops::max_pool2d(ops::relu(y + Value(parameters.back())));
  };
  convolution("conv2d", 8);
  convolution("conv2d_1", 10);
  Graph::Scope scope(graph, "dense");
  x = ops::flatten(x);
  parameters.push_back(builder.weights("dense/kernel", {x.shape()[1], 10}, 0.1));
  parameters.push_back(builder.weights("dense/bias", {10}, 0.1));
  Value logits = ops::matmul(x, parameters[parameters.size() - 2]) + Value(parameters.back());
  Values found = gradients(mean_loss(*network, logits, labels), parameters);
  // A large epsilon: with the usual one a gradient near zero would turn rounding into a full step.
  for (const Variable& variable :
       add_adam(graph, parameters, found, {.epsilon = 1e-3, .weight_decay = 0.004}))
    builder.add(variable);
  return network;
}

std::unique_ptr<Network> residual_network() {
  auto network = std::make_unique<Network>();
  network->inputs = {{DType::float32, {3, 7, 7, 5}}, {DType::int32, {3}}};
  Graph& graph = network->graph;
  Builder builder(*network);
  Value x = graph.input("x", network->inputs[0]), labels = graph.input("y", network->inputs[1]);
  std::vector<Variable> parameters;
  auto normalized = [&](const std::string& name, const Value& input) {
    Graph::Scope scope(graph, name);
    parameters.push_back(builder.weights(name + "/kernel", {3, 3, 5, 5}, 0.3));
    Value y = ops::conv2d(input, parameters.back(), {.padding = {1, 1, 1, 1}});
    parameters.push_back(builder.weights(name + "/gamma", {5}, 1));
    parameters.push_back(builder.weights(name + "/beta", {5}, 0.1));
    auto [out, mean, variance] =
        ops::batch_norm(y, parameters[parameters.size() - 2], parameters.back());
    for (const auto& [moving, value] :
         {std::pair{std::string("/moving_mean"), mean}, {"/moving_variance", variance}}) {
      Variable average = builder.filled(name + moving, value.spec(), 0);
      graph.assign(average,
                   apply1("moving_average", {graph.variable(average), value}, {{"momentum", 0.9}}));
    }
    return out;
  };
  Value y = ops::relu(normalized("block_1", x));
  y = ops::relu(normalized("block_2", y) + x);
  Graph::Scope scope(graph, "head");
  Variable state = builder.filled("random_state", {DType::int64, {2}}, 3);
  y = ops::dropout(ops::mean(y, {.axes = {1, 2}}), graph.variable(state), 0.4, 0);
  graph.assign(state, graph.variable(state) + graph.constant(Tensor::from<int64_t>({0, 1}, {2})));
  parameters.push_back(builder.weights("dense/kernel", {5, 10}, 0.5));
  Value loss = mean_loss(*network, ops::matmul(y, parameters.back()), labels);
  graph.guard(loss);
  clipped_sgd(*network, builder, loss, parameters);
  return network;
}

}  // namespace stoker::test
