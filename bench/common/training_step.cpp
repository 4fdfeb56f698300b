#include "common/training_step.h"

#include <stoker/ops.h>

#include "common/timing.h"
#include "train/model/model_base.h"
#include "train/step/steps.h"

namespace stoker::bench {

namespace {

Tensor uniform(const Shape& shape, uint64_t stream) {
  Tensor tensor(DType::float32, shape);
  float* data = tensor.data_mut<float>();
  Rng rng(7, stream);
  for (int64_t i = 0; i < tensor.elements(); ++i) data[i] = rng.uniform();
  return tensor;
}

Tensor class_ids(int64_t count) {
  Tensor tensor(DType::int64, {count});
  int64_t* data = tensor.data_mut<int64_t>();
  Rng rng(7, 1);
  for (int64_t i = 0; i < count; ++i) data[i] = rng.integer(0, 10);
  return tensor;
}

bool is_product(const Node& node) {
  return node.op->name == "matmul" || node.op->name.starts_with("conv2d");
}

}  // namespace

CachedProgram& training_program(const Model& model, const Batch& batch) {
  return program_for(ModelAccess::base(model), StepKind::train, batch.tensors(), "bench");
}

TrainingStep::TrainingStep(const std::vector<Layer>& layers, const Shape& x, int threads)
    : model_(layers), batch_({uniform(x, 0), class_ids(x[0])}) {
  context_.device = "cpu";  // whatever else the machine has
  context_.seed.set(7);
  context_.threads.compute = threads;
  model_.compile({.optimizer = "adam",
                  .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                  .context = &context_});
}

std::unique_ptr<TrainingStep> TrainingStep::cnn(int64_t first, int64_t second, int64_t batch,
                                                int threads) {
  std::vector<Layer> layers = {Input({28, 28, 1}), Conv2D(first, 3, {.activation = "relu"}),
                               MaxPooling2D(),     Conv2D(second, 3, {.activation = "relu"}),
                               MaxPooling2D(),     Flatten(),
                               Dense(10)};
  return std::unique_ptr<TrainingStep>(new TrainingStep(layers, {batch, 28, 28, 1}, threads));
}

std::unique_ptr<TrainingStep> TrainingStep::tower(int64_t batch, int threads) {
  std::vector<Layer> layers = {Input({32, 32, 64})};
  for (int block = 0; block < 3; ++block) {
    layers.push_back(Conv2D(64, 3, {.padding = "same", .use_bias = false}));
    layers.push_back(BatchNormalization({.momentum = 0.9, .epsilon = 1e-5}));
    layers.push_back(ReLU());
  }
  layers.push_back(GlobalAveragePooling2D());
  layers.push_back(Dense(10));
  return std::unique_ptr<TrainingStep>(new TrainingStep(layers, {batch, 32, 32, 64}, threads));
}

Program& TrainingStep::program() { return *training_program(model_, batch_).program; }

double TrainingStep::flops() {
  const Graph& graph = *training_program(model_, batch_).graph;
  double total = 0;
  for (const Node& node : graph.nodes())
    if (is_product(node)) total += graph.cost(node).flops;
  return total;
}

MatmulPeak::MatmulPeak(int threads) {
  constexpr int64_t kSide = 1024;
  for (uint64_t i = 0; i < 2; ++i) operands_.push_back(uniform({kSide, kSide}, i));
  Value a = graph_.input("a", operands_[0].spec()), b = graph_.input("b", operands_[1].spec());
  graph_.output(ops::matmul(a, b), "y");
  CompileOptions options;
  options.threads = threads;
  program_ = backend("cpu").compile(graph_, options);
}

double MatmulPeak::measure(int repeats) {
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    double before = now();
    run();
    best = std::max(best, kFlops / (now() - before));
  }
  return best;
}

}  // namespace stoker::bench
