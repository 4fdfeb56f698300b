// Tensors of random numbers: those that an Rng of the sequence draws one after another, made by all
// compute threads of the default context. Their number changes no bit.
#pragma once

#include <cstdint>

#include <stoker/tensor.h>

namespace stoker {

// What (seed, stream) names; see <stoker/random.h>.
struct RandomSequence {
  uint64_t seed, stream;
};

// float32 all. The truncated one draws again beyond two deviations, as Keras.
Tensor normal_values(const Shape& shape, const RandomSequence& from, double mean, double stddev);
Tensor truncated_normal_values(const Shape& shape, const RandomSequence& from, double mean,
                               double stddev);
Tensor uniform_values(const Shape& shape, const RandomSequence& from, double low, double high);

}  // namespace stoker
