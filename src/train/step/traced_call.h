// model(tensor, options) where a prediction does not do: in training mode, or with a mask. A program
// of its own, without a loss or an update of weights.
#pragma once

#include <vector>

#include "train/model/model_base.h"

namespace stoker {

struct TracedCallOptions {
  bool training = false;
  Tensor mask = {};  // of x; undefined: none
};

// All outputs. Traced again when the options are of another kind, or a layer was frozen or thawed,
// since the last call.
std::vector<Tensor> call_traced(ModelBase& model, const Tensor& x,
                                const TracedCallOptions& options);

}  // namespace stoker
