// libtorch beside Stoker, where it is installed.
#pragma once

#include <functional>
#include <vector>

#include "common/timing.h"
#include "common/training_step.h"

namespace stoker::bench {

struct TorchCase {
  bool tower = false;
  int64_t first = 64, second = 128;
};

// The same step from the same weights in libtorch, in both of its layouts; empty where it is
// absent.
std::vector<Contender> torch_contenders(const TrainingStep& step, const TorchCase& which,
                                        int threads);

}  // namespace stoker::bench
