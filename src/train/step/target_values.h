// Targets whose values cannot be meant.
#pragma once

#include <span>

#include "train/model/trainer.h"

namespace stoker {

// Targets of crossentropies are probabilities: labels 1 and 2, or masks of 0 and 255, would give
// losses that look like any other. ValueError, beginning with `action`, for a value outside [0, 1].
// tensors: the model's inputs, then targets; fewer are left to the step, which counts them. Reads
// every element once, at the speed of memory.
void check_target_values(ModelBase& model, std::span<const Tensor> tensors, const char* action);

}  // namespace stoker
