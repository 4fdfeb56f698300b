// A process that does one training step of a small CNN and ends: what bench_step times from
// outside. On its own, so that libtorch, which bench_step links, is not part of the time.
#include <cmath>

#include "common/training_step.h"

int main() {
  auto step = stoker::bench::TrainingStep::cnn(64, 128, 32, 0);
  return std::isfinite(step->run()) ? 0 : 1;
}
