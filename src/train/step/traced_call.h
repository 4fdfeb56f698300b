// model(tensor, {.training = true}): a program of its own, without a loss or an update of weights.
#pragma once

#include <vector>

#include "train/model/model_base.h"

namespace stoker {

// All outputs. Traced again when a layer was frozen or thawed since the last call.
std::vector<Tensor> call_in_training(ModelBase& model, const Tensor& x);

}  // namespace stoker
