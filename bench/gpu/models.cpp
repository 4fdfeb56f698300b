#include "gpu/models.h"

#include <cmath>
#include <fstream>

#include <stoker/applications.h>
#include <stoker/ops.h>
#include <stoker/optimizers.h>
#include <stoker/random.h>

#include "graph/passes/passes.h"
#include "nn/logits.h"
#include "train/model/model_base.h"

namespace stoker::bench {

namespace {

constexpr uint64_t kSeed = 7;

Tensor uniform(const Shape& shape, float low, float high, uint64_t stream) {
  Tensor tensor(DType::float32, shape);
  float* data = tensor.data_mut<float>();
  Rng rng(kSeed, stream);
  for (int64_t i = 0; i < tensor.elements(); ++i) data[i] = rng.uniform(low, high);
  return tensor;
}

Tensor class_ids(int64_t count, int64_t classes) {
  Tensor tensor(DType::int64, {count});
  int64_t* data = tensor.data_mut<int64_t>();
  Rng rng(kSeed, 1);
  for (int64_t i = 0; i < count; ++i) data[i] = rng.integer(0, classes);
  return tensor;
}

void write(const std::string& path, const std::vector<Tensor>& tensors) {
  std::ofstream file(path, std::ios::binary);
  for (const Tensor& tensor : tensors)
    file.write(static_cast<const char*>(tensor.raw()), std::streamsize(tensor.bytes()));
  if (!file) throw FileError(path + ": could not be written");
}

}  // namespace

Variable GpuModel::parameter(const std::string& name, const Shape& shape, double fan_in) {
  auto range = float(std::sqrt(1 / fan_in));
  parameters_.emplace_back(name, uniform(shape, -range, range, 16 + parameters_.size()));
  return parameters_.back();
}

// In the dtype of the step; variables stay float32.
Value GpuModel::computed(const Value& value) {
  return compute_ == DType::float32 ? value : ops::cast(value, compute_);
}

Value GpuModel::input(const Shape& shape, int64_t classes, const GpuModelOptions& options) {
  compute_ = options.compute;
  batch_ = options.batch;
  if (batch_.empty()) batch_ = {uniform(shape, 0, 1, 0), class_ids(shape[0], classes)};
  Value x;
  if (options.resident) {
    Variable::Options fixed{.trainable = false, .category = MemoryCategory::inputs};
    x = graph_.variable(Variable("x", batch_[0], fixed));
    labels_ = graph_.variable(Variable("y", batch_[1], fixed));
  } else {
    x = graph_.input("x", batch_[0].spec());
    labels_ = graph_.input("y", batch_[1].spec());
  }
  if (x.dtype() == DType::uint8) x = ops::cast(x, DType::float32) * (1 / 127.5) - 1.0;
  return x;
}

Value GpuModel::dense(const Value& x, int64_t units) {
  double inputs = double(x.shape()[1]);
  Variable kernel = parameter("kernel", {x.shape()[1], units}, inputs);
  Variable bias = parameter("bias", {units}, inputs);
  return ops::matmul(x, computed(graph_.variable(kernel))) + computed(graph_.variable(bias));
}

void GpuModel::finish(const Value& logits) {
  Value loss = ops::mean(ops::sparse_softmax_cross_entropy(logits, labels_));
  graph_.output(loss, "loss");
  graph_.guard(loss);
  Graph::Scope backward(graph_, Phase::backward);
  Adam({.epsilon = 1e-8}).apply(gradients(loss, parameters_), parameters_);
}

std::unique_ptr<GpuModel> GpuModel::cnn(int64_t batch, const GpuModelOptions& options) {
  std::unique_ptr<GpuModel> model(new GpuModel);
  Value x = model->computed(model->input({batch, 28, 28, 1}, 10, options));
  for (int64_t filters : {64, 128}) {
    int64_t channels = x.shape()[3];
    Variable w = model->parameter("kernel", {3, 3, channels, filters}, double(9 * channels));
    Variable bias = model->parameter("bias", {filters}, double(9 * channels));
    x = ops::conv2d(x, model->computed(model->graph_.variable(w))) +
        model->computed(model->graph_.variable(bias));
    x = ops::max_pool2d(ops::relu(x));
  }
  model->finish(model->dense(ops::flatten(x), 10));
  return model;
}

// Users' network as a step of theirs is traced, without metrics and with the loss as only guard.
std::unique_ptr<GpuModel> GpuModel::resnet50(int64_t batch, const GpuModelOptions& options) {
  std::unique_ptr<GpuModel> model(new GpuModel);
  Value x = model->input({batch, 224, 224, 3}, 1000, options);
  set_seed(kSeed);
  Model network = applications::resnet50();
  Graph& graph = model->graph_;
  graph.set_training(true);
  graph.set_compute_dtype(options.compute);
  CallContext context(graph);
  Graph::Scope scope(graph, "inputs");
  Value predictions = ModelAccess::base(network).call({x}, context)[0];
  model->parameters_ = network.trainable_variables();
  model->finish(logits_behind_softmax(predictions));
  return model;
}

std::unique_ptr<Program> GpuModel::compile(const CompileOptions& options,
                                           const std::string& device) {
  Backend& engine = backend(device);
  passes::use_fused_forms(
      graph_, [&](std::string_view op, DType dtype) { return engine.supports(op, dtype); });
  return engine.compile(graph_, options);
}

void GpuModel::save(const std::string& folder) const {
  std::vector<Tensor> weights;
  for (const Variable& parameter : parameters_) weights.push_back(parameter.read());
  write(folder + "/weights.bin", weights);
  write(folder + "/x.bin", {batch_[0]});
  write(folder + "/y.bin", {batch_[1]});
}

}  // namespace stoker::bench
