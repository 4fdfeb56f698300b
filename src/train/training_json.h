// What compile() was told, and where training stands, as JSON text and back.
#pragma once

#include <string>
#include <string_view>

#include "train/trainer.h"

namespace stoker {

struct TrainingSettings {
  CompileArgs args;  // without the context
  int64_t accumulated_batches = 0;
  uint64_t seed = 0;
};

// ValueError for a loss or metric that is a C++ function.
std::string training_to_json(const Trainer& trainer, const RunPlan& plan);
TrainingSettings training_from_json(std::string_view text);  // ValueError says what is wrong

}  // namespace stoker
