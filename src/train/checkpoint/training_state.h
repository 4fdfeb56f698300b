// The variables of a training beside the weights: the one list that model files and checkpoints
// keep. What a trainer learns to remember in a variable is added here.
#pragma once

#include <string>
#include <string_view>

#include "train/model/trainer.h"
#include "train/model/weight_paths.h"

namespace stoker {

NamedVariables with_prefix(const std::string& prefix, NamedVariables named);

// The optimiser's variables and the random state, named after the weights that they belong to.
// `weights`: named_weights() of the model.
NamedVariables training_state(const Trainer& trainer, const NamedVariables& weights);
// Whether a tensor's name is one of that list.
bool is_training_state(std::string_view name);
// Whether a name of that list is the loss scale's, which only training in float16 has.
bool is_loss_scale(std::string_view name);

}  // namespace stoker
