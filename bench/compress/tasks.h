// What bench_compress trains on.
#pragma once

#include <string>

#include <stoker/tensor.h>

namespace stoker::bench {

struct Task {
  std::string name;
  Tensor x, y, test_x, test_y;  // float32 [N, H, W, C], int32 [N]
};

// Pictures of 32×32×3 in ten classes. Each shows a pattern of its class, moved, blended with one of
// another class and noise. In 7 % the other one is stronger: the best network reaches 93 %.
Task blended_patterns(int64_t count, int64_t test_count, uint64_t seed);
// MNIST's four files in a folder; `count` of the 60000 pictures, `test_count` of the 10000.
Task mnist(const std::string& folder, int64_t count, int64_t test_count);

}  // namespace stoker::bench
