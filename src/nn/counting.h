// 0, 1, 2, … as a constant.
#pragma once

#include <numeric>

#include <stoker/value.h>

namespace stoker {

inline Value counting(int64_t count) {  // int64 [count]
  Tensor numbers = Tensor::zeros({count}, DType::int64);
  std::iota(numbers.data_mut<int64_t>(), numbers.data_mut<int64_t>() + count, int64_t(0));
  return numbers;
}

}  // namespace stoker
