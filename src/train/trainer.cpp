#include "train/trainer.h"

#include <fmt/format.h>
#include <stoker/random.h>

#include "train/model_base.h"

namespace stoker {

uint64_t derived_seed(uint64_t seed, uint64_t purpose) { return Rng(seed, purpose).next64(); }

Trainer& trainer_of(ModelBase& model) {
  if (model.trainer == nullptr) model.trainer = std::make_unique<Trainer>();
  return *model.trainer;
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
