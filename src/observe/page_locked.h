// Tensors in memory that a GPU can copy from by itself.
#pragma once

#include <stoker/tensor.h>

namespace stoker {

// A copy in page-locked memory; in ordinary memory where no engine has any.
Tensor page_locked_copy(const Tensor& tensor);

}  // namespace stoker
