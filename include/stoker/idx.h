// Arrays in the IDX format of the MNIST family, plain or gzip.
#pragma once

#include <string>

#include <stoker/tensor.h>

namespace stoker {

// With the dtype and shape that the file says: images uint8 [count, rows, columns], labels uint8
// [count]. A FileError when the file is missing, cut off or of another kind.
Tensor load_idx(const std::string& path);

}  // namespace stoker
