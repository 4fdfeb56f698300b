// summary({.measure = true}): the time of every layer on a made-up batch.
#include <fmt/format.h>

#include "observe/layer_times.h"
#include "observe/profile/measure_layers.h"
#include "train/fit/made_up_batch.h"
#include "train/model/state_snapshot.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

constexpr int kMeasuredSteps = 5;

}  // namespace

std::map<std::string, LayerSeconds> measure_layers(ModelBase& model, int64_t batch_size,
                                                   const char* action) {
  compiled_of(model, action);
  if (model.trainer->busy)
    throw Error(fmt::format("{}: the model is being trained; ask when fit has ended", action));
  std::vector<Tensor> batch = made_up_batch(model, batch_size, action);
  StateSnapshot state(model);
  state.cover(*program_for(model, training_kind(*model.trainer), batch, action).graph);
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
