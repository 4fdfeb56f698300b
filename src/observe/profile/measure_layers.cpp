// summary({.measure = true}): the time of every layer on a made-up batch.
#include <fmt/format.h>

#include "observe/layer_times.h"
#include "observe/snapshot.h"
#include "train/fit/profiling.h"
#include "train/model/memory_table.h"

namespace stoker {

namespace {

constexpr int kMeasuredSteps = 5;

// Numbers between 0 and 1; integers are class ids and indices, of which 0 always fits.
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

std::vector<Tensor> made_up_batch(const ModelBase& model, int64_t batch_size, const char* action) {
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

}  // namespace

std::map<std::string, LayerSeconds> measure_layers(ModelBase& model, int64_t batch_size,
                                                   const char* action) {
  compiled_of(model, action);
  if (model.trainer->busy)
    throw Error(fmt::format("{}: the model is being trained; ask when fit has ended", action));
  std::vector<Tensor> batch = made_up_batch(model, batch_size, action);
  StateSnapshot state(model);
  std::map<std::string, LayerSeconds> layers;
  for (const doctor::LayerReport& row : doctor::time_layers(model, batch, kMeasuredSteps)) {
    LayerSeconds& sum = layers[row.layer];
    (row.phase == "forward"    ? sum.forward
     : row.phase == "backward" ? sum.backward
                               : sum.update) += row.seconds;
  }
  state.restore();
  return layers;
}

}  // namespace stoker
