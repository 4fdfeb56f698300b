// The memory of a model's training step, known before the first step.
#pragma once

#include <optional>
#include <string>

#include "engine/backend.h"
#include "train/model/model_base.h"

namespace stoker {

// Compiles the training program of this batch size if need be. Nothing when the model is not
// compiled, or when the shape of its targets cannot be known yet (a loss of the user's own).
std::optional<MemoryReport> training_memory(ModelBase& model, int64_t batch_size);

// The inputs of a training step of this batch size: those that were seen, or what the model and its
// losses tell. ShapeError when a target's shape cannot be known yet. The model is compiled.
std::vector<TensorSpec> likely_step_specs(const ModelBase& model, int64_t batch_size);

// For people who do not know categories.
MemoryUse memory_use(const MemoryReport& report);

// One line a category and the total.
std::string memory_table(const MemoryReport& report);

std::string human_bytes(double bytes);  // "1.5 MB"

}  // namespace stoker
