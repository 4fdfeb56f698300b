#include "train/fit/made_up_batch.h"

#include <fmt/format.h>

#include "train/model/memory_table.h"

namespace stoker {

namespace {

Tensor made_up(const TensorSpec& spec) {
  Tensor tensor = Tensor::zeros(spec.shape, spec.dtype);
  if (spec.dtype != DType::float32) return tensor;
  uint32_t state = 1;
  auto* values = tensor.data_mut<float>();
  for (int64_t i = 0; i < spec.shape.elements(); ++i) {
    state = state * 1664525U + 1013904223U;
    values[i] = float(state >> 8) / float(1 << 24);
  }
  return tensor;
}

}  // namespace

std::vector<Tensor> made_up_batch(const ModelBase& model, int64_t batch_size,
                                  const std::string& action) {
  std::vector<Tensor> batch;
  try {
    for (const TensorSpec& spec : likely_step_specs(model, batch_size))
      batch.push_back(made_up(spec));
  } catch (const ShapeError& error) {
    throw Error(
        fmt::format("{}: no batch can be made up before the first fit: {}", action, error.what()));
  }
  return batch;
}

}  // namespace stoker
