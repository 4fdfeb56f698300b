#include "common/training_step.h"

#include <cmath>

#include <stoker/ops.h>
#include <stoker/random.h>

#include "common/timing.h"

namespace stoker::bench {

namespace {

CompileOptions with_threads(int threads) {
  CompileOptions options;
  options.threads = threads;
  return options;
}

Tensor uniform(const Shape& shape, float low, float high, uint64_t stream) {
  Tensor tensor(DType::float32, shape);
  float* data = tensor.data_mut<float>();
  Rng rng(7, stream);
  for (int64_t i = 0; i < tensor.elements(); ++i) data[i] = rng.uniform(low, high);
  return tensor;
}

Tensor class_ids(int64_t count) {
  Tensor tensor(DType::int64, {count});
  int64_t* data = tensor.data_mut<int64_t>();
  Rng rng(7, 1);
  for (int64_t i = 0; i < count; ++i) data[i] = rng.integer(0, 10);
  return tensor;
}

Variable zeros_like(const std::string& prefix, const Variable& p) {
  return {prefix + p.name(),
          Tensor::zeros(p.shape()),
          {.trainable = false, .category = MemoryCategory::optimizer}};
}

bool is_product(const Node& node) {
  return node.op->name == "matmul" || node.op->name.starts_with("conv2d");
}

}  // namespace

Variable TrainingStep::parameter(const std::string& name, const Shape& shape, float range) {
  parameters_.emplace_back(name, uniform(shape, -range, range, 16 + parameters_.size()));
  return parameters_.back();
}

Value TrainingStep::input(const Shape& shape) {
  batch_ = {uniform(shape, 0, 1, 0), class_ids(shape[0])};
  Value x = graph_.input("x", batch_[0].spec());
  labels_ = graph_.input("y", batch_[1].spec());
  return x;
}

Value TrainingStep::convolution(const Value& x, int64_t filters, bool same, bool with_bias) {
  int64_t channels = x.shape()[3], pad = same ? 1 : 0;
  float range = std::sqrt(1 / float(9 * channels));
  Variable kernel = parameter("kernel", {3, 3, channels, filters}, range);
  Value y = ops::conv2d(x, kernel, {.padding = {pad, pad, pad, pad}});
  return with_bias ? y + Value(parameter("bias", {filters}, range)) : y;
}

Value TrainingStep::batch_norm(const Value& x) {
  int64_t channels = x.shape()[3];
  parameters_.emplace_back("gamma", Tensor::full({channels}, 1));
  parameters_.emplace_back("beta", Tensor::zeros({channels}));
  auto [y, mean, variance] =
      ops::batch_norm(x, parameters_[parameters_.size() - 2], parameters_.back(), 1e-5);
  for (const auto& [name, value] : {std::pair{"mean", mean}, {"variance", variance}}) {
    Variable moving(name, Tensor::zeros({channels}), {.trainable = false});
    graph_.assign(moving,
                  apply1("moving_average", {graph_.variable(moving), value}, {{"momentum", 0.9}}));
  }
  return y;
}

Value TrainingStep::dense(const Value& x, int64_t units) {
  float range = std::sqrt(1 / float(x.shape()[1]));
  Variable kernel = parameter("kernel", {x.shape()[1], units}, range);
  return ops::matmul(x, kernel) + Value(parameter("bias", {units}, range));
}

void TrainingStep::adam(const Value& loss) {
  Values found = gradients(loss, parameters_);
  Graph::Scope scope(graph_, "optimizer"), phase(graph_, Phase::update);
  Variable iterations("iterations", Tensor::zeros({}, DType::int64), {.trainable = false});
  Value t = graph_.variable(iterations);
  Values operands = {graph_.constant(Tensor(1e-3F)), t};
  std::vector<Variable> owners;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Variable m = zeros_like("m/", parameters_[i]), v = zeros_like("v/", parameters_[i]);
    owners.insert(owners.end(), {parameters_[i], m, v});
    for (const Value& value :
         {graph_.variable(parameters_[i]), found[i], graph_.variable(m), graph_.variable(v)})
      operands.push_back(value);
  }
  Values updated = apply("adam_update", operands,
                         {{"beta_1", 0.9},
                          {"beta_2", 0.999},
                          {"epsilon", 1e-8},
                          {"amsgrad", false},
                          {"weight_decay", 0.0},
                          {"clipvalue", 0.0},
                          {"scaled", false}});
  for (size_t i = 0; i < owners.size(); ++i) graph_.assign(owners[i], updated[i]);
  graph_.assign(iterations, t + 1.0);
}

void TrainingStep::finish(const Value& logits, int threads) {
  Value loss = ops::mean(ops::sparse_softmax_cross_entropy(logits, labels_));
  graph_.output(loss, "loss");
  graph_.guard(loss);
  {
    Graph::Scope backward(graph_, Phase::backward);
    adam(loss);
  }
  for (const Node& node : graph_.nodes())
    if (is_product(node)) flops_ += graph_.cost(node).flops;
  program_ = backend("cpu").compile(graph_, with_threads(threads));
}

std::unique_ptr<TrainingStep> TrainingStep::cnn(int64_t first, int64_t second, int64_t batch,
                                                int threads) {
  std::unique_ptr<TrainingStep> step(new TrainingStep);
  Value x = step->input({batch, 28, 28, 1});
  x = ops::max_pool2d(ops::relu(step->convolution(x, first, false, true)));
  x = ops::max_pool2d(ops::relu(step->convolution(x, second, false, true)));
  step->finish(step->dense(ops::flatten(x), 10), threads);
  return step;
}

std::unique_ptr<TrainingStep> TrainingStep::tower(int64_t batch, int threads) {
  std::unique_ptr<TrainingStep> step(new TrainingStep);
  Value x = step->input({batch, 32, 32, 64});
  for (int block = 0; block < 3; ++block)
    x = ops::relu(step->batch_norm(step->convolution(x, 64, true, false)));
  step->finish(step->dense(ops::mean(x, {.axes = {1, 2}}), 10), threads);
  return step;
}

MatmulPeak::MatmulPeak(int threads) {
  constexpr int64_t kSide = 1024;
  for (uint64_t i = 0; i < 2; ++i) operands_.push_back(uniform({kSide, kSide}, 0, 1, i));
  Value y =
      ops::matmul(graph_.input("a", operands_[0].spec()), graph_.input("b", operands_[1].spec()));
  graph_.output(y, "y");
  program_ = backend("cpu").compile(graph_, with_threads(threads));
}

double MatmulPeak::measure(int repeats) {
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    double before = now();
    program_->run(operands_);
    best = std::max(best, 2 * 1024.0 * 1024.0 * 1024.0 / (now() - before));
  }
  return best;
}

}  // namespace stoker::bench
