// From a model to its checkpoint and back: everything that lives in the model and its trainer.
#pragma once

#include "train/checkpoint/checkpoint.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {

// Copies; waits for the device. The model is compiled and knows its input.
void take_state(const ModelBase& model, Checkpoint& checkpoint);
// ValueError, with the model unchanged, when the tensors are not this model's.
void restore_state(ModelBase& model, const Checkpoint& checkpoint);

}  // namespace stoker
