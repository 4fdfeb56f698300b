#include "train/trainer.h"

#include <fmt/format.h>
#include <stoker/random.h>

#include "train/claimed_weights.h"
#include "train/model_base.h"

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

Compiled& compiled_of(ModelBase& model, const char* action) {
  Trainer& trainer = trainer_of(model);
  if (trainer.compiled == nullptr)
    throw Error(
        fmt::format("{}: {} is not compiled; call compile({{.optimizer = …, .loss = …}}) first",
                    action, model.title()));
  return *trainer.compiled;
}

}  // namespace stoker
