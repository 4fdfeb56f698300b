// A batch to measure with where there is no data yet.
#pragma once

#include <string>
#include <vector>

#include "train/model/model_base.h"

namespace stoker {

// Inputs, targets and nothing else, as likely_step_specs() has them: numbers between 0 and 1; zeros
// for integers, which are class ids and indices. The model is compiled. Error, naming `action`,
// when the shape of a target cannot be known before the first fit.
std::vector<Tensor> made_up_batch(const ModelBase& model, int64_t batch_size,
                                  const std::string& action);

}  // namespace stoker
