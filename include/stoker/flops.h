// How much work a model is.
#pragma once

#include <stoker/model.h>

namespace stoker {

// Floating-point operations of a forward pass of one sample; a multiply-add is two.
double count_flops(const Model& model);

}  // namespace stoker
