// Random tensors for tests: reproducible from a seed, and kept away from the points where a test
// would be unfair.
#pragma once

#include <string>
#include <vector>

#include <stoker/random.h>
#include <stoker/tensor.h>

namespace stoker::test {

struct Fill {
  double low = -1, high = 1;       // uniform in between; integers in [low, high)
  std::vector<double> avoid = {};  // floats stay 1/16 away from these, integers differ from them
  double step = 0;                 // > 0: only offset + step * integer
  double offset = 0;
  bool distinct = false;            // no two elements alike: a shuffled ladder of steps of 1/64
  std::vector<double> values = {};  // exactly these, repeated
};

// `grid` > 0 rounds floats to its multiples, so that sums with small multiples of it are exact.
Tensor draw(const TensorSpec& spec, const Fill& fill, Rng& rng, double grid = 0);

Tensor make_tensor(const TensorSpec& spec, const std::vector<double>& values);
std::vector<double> numbers(const Tensor& tensor);
double largest(const Tensor& tensor);  // of the absolute values; 0 when empty

// From the environment (STOKER_TEST_SEED) or else fresh for every process.
uint64_t fresh_seed();
// A stream of random numbers of its own for every name.
Rng named_rng(uint64_t seed, const std::string& name);

}  // namespace stoker::test
