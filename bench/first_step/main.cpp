// A process that does one training step of a small CNN and ends: what bench_step times from
// outside. On its own, so that libtorch, which bench_step links, is not part of the time.
//   bench_first_step [DEVICE]   with a device: on that one, and what the time went into
#include <cmath>
#include <iostream>

#include "common/phases.h"
#include "common/training_step.h"

namespace {

int step_on(const char* device) {
  using namespace stoker;
  bench::Phases phases;
  Context context{.seed = 7, .device = device, .out = nullptr};
  Sequential model({Input({28, 28, 1}), Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(),
                    Conv2D(128, 3, {.activation = "relu"}), MaxPooling2D(), Flatten(), Dense(10)});
  model.compile({.optimizer = "adam",
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .context = &context});
  double loss = model.train_on_batch(Tensor::full({32, 28, 28, 1}, 0.5),
                                     Tensor::zeros({32}, DType::int64))["loss"];
  phases.print(std::cout);
  return std::isfinite(loss) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return step_on(argv[1]);
  auto step = stoker::bench::TrainingStep::cnn(64, 128, 32, 0);
  return std::isfinite(step->run()) ? 0 : 1;
}
