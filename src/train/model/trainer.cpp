#include "train/model/trainer.h"

#include <fmt/format.h>
#include <stoker/random.h>

#include "train/model/claimed_weights.h"
#include "train/model/model_base.h"

namespace stoker {

uint64_t derived_seed(uint64_t seed, uint64_t purpose) { return Rng(seed, purpose).next64(); }

Trainer& trainer_of(ModelBase& model) { return *model.trainer; }

Reading::Reading(ModelBase& model, const char* action) {
  Trainer& trainer = *model.trainer;
  use_.emplace(trainer.gate, action, UseMode::shared);
  bool complete = model.connected() && (!trainer.compiled || trainer.compiled->training);
  if (!complete) {
    use_.reset();
    use_.emplace(trainer.gate, action, UseMode::alone);
  }
  check_unclaimed(model, action);
}

Variable make_random_state(const std::string& name, uint64_t seed, uint64_t purpose) {
  auto key = int64_t(derived_seed(seed, purpose));
  return {name,
          Tensor::from<int64_t>({key, 0}, {2}),
          {.trainable = false, .category = MemoryCategory::metrics}};
}

void check_trainable(const ModelBase& model, const char* action) {
  if (!model.trainer->compiled->trainable.empty()) return;
  std::string frozen;
  for (const auto& [layer, trainable] : model.trainer->compiled->trainable_layers)
    if (!trainable && !layer->weights().empty())
      frozen += fmt::format("{}\"{}\"", frozen.empty() ? "" : ", ", layer->path());
  if (frozen.empty())
    throw Error(fmt::format("{}: {} has nothing to train: none of its layers has trainable weights",
                            action, model.title()));
  throw Error(fmt::format(
      "{}: {} has nothing to train: when it was compiled, these layers were frozen: {}; "
      "call set_trainable(true) and compile again",
      action, model.title(), frozen));
}

Compiled& compiled_of(ModelBase& model, const char* action) {
  Trainer& trainer = trainer_of(model);
  if (trainer.compiled == nullptr)
    throw Error(
        fmt::format("{}: {} is not compiled; call compile({{.optimizer = …, .loss = …}}) first",
                    action, model.title()));
  return *trainer.compiled;
}

}  // namespace stoker
