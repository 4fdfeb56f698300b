// The arguments of compile() and the progress of training, as JSON text and back.
#pragma once

#include <string>
#include <string_view>

#include "train/model/trainer.h"

namespace stoker {

struct TrainingSettings {
  CompileArgs args;  // without the context
  int64_t accumulated_batches = 0;
  uint64_t seed = 0;
};

// Losses, metrics and schedules that are the user's own code are written by their names.
std::string training_to_json(const Trainer& trainer, const RunPlan& plan);
// ValueError says what is wrong, or what `objects` lacks.
TrainingSettings training_from_json(std::string_view text, const CustomObjects& objects);

}  // namespace stoker
