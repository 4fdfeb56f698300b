// The training steps of the GPU bars as graphs: forward, loss, backward, Adam. Images and labels
// are variables, so that they lie on the device and a step copies nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backend.h"

namespace stoker::bench {

struct GpuModelOptions {
  DType compute = DType::bfloat16;  // float32: no casts
  bool resident = true;             // false: x and y are inputs
  std::vector<Tensor> batch =
      {};  // x (uint8: scaled to [-1, 1] in the step) and class ids; else made up
};

class GpuModel {
 public:
  // conv3×3 64, ReLU, pool, conv3×3 128, ReLU, pool, dense 10 on 28×28×1: the CNN 64/128
  static std::unique_ptr<GpuModel> cnn(int64_t batch, const GpuModelOptions& options = {});
  // applications::resnet50 on 224×224×3, 1000 classes
  static std::unique_ptr<GpuModel> resnet50(int64_t batch, const GpuModelOptions& options = {});

  const Graph& graph() const { return graph_; }
  const std::vector<Tensor>& batch() const { return batch_; }  // x: NHWC, class ids
  std::unique_ptr<Program> compile(const CompileOptions& options, const std::string& device);

  // Parameters and batch in the order of use, float32 and int64, for another framework to load.
  void save(const std::string& folder) const;

 private:
  GpuModel() = default;
  Value input(const Shape& shape, int64_t classes, const GpuModelOptions& options);
  Value computed(const Value& value);
  Value dense(const Value& x, int64_t units);
  void finish(const Value& logits);
  Variable parameter(const std::string& name, const Shape& shape, double fan_in);

  Graph graph_;
  DType compute_ = DType::bfloat16;
  std::vector<Tensor> batch_;
  std::vector<Variable> parameters_;
  Value labels_;
};

}  // namespace stoker::bench
