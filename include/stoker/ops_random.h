// Random numbers as ops. A draw is a function of a key, so that any engine, any number of threads
// and a resumed run draw the same numbers to the last bit. Without a seed the key is the graph's
// random state (as of Dropout: other numbers in every step; inside Layer::call and function()) and
// the number of the call in the graph. With a seed it is the seed alone: the same numbers always.
#pragma once

#include <optional>

#include <stoker/value.h>

namespace stoker::ops::random {

struct Normal {
  double mean = 0;
  double stddev = 1;
  DType dtype = DType::float32;
  std::optional<int64_t> seed = {};
};
Value normal(const Shape& shape, const Normal& options = {});
Value truncated_normal(const Shape& shape, const Normal& options = {});  // within 2 deviations
struct Uniform {
  double minval = 0;
  double maxval = 1;  // excluded
  DType dtype = DType::float32;
  std::optional<int64_t> seed = {};
};
Value uniform(const Shape& shape, const Uniform& options = {});
struct Seeded {
  DType dtype = DType::float32;
  std::optional<int64_t> seed = {};
};
// Whole numbers in [minval, maxval).
Value randint(const Shape& shape, int64_t minval, int64_t maxval,
              const Seeded& options = {.dtype = DType::int32});
// Classes drawn from logits [B, C]: [B, num_samples].
Value categorical(const Value& logits, int64_t num_samples,
                  const Seeded& options = {.dtype = DType::int32});
// Parameters broadcast to the shape.
Value bernoulli(const Shape& shape, const Value& probabilities, const Seeded& options = {});
Value binomial(const Shape& shape, const Value& counts, const Value& probabilities,
               const Seeded& options = {});
Value gamma(const Shape& shape, const Value& alpha, const Seeded& options = {});
Value beta(const Shape& shape, const Value& alpha, const Value& beta, const Seeded& options = {});
Value gumbel(const Shape& shape, const Seeded& options = {});
// The slices of an axis in another order.
Value shuffle(const Value& x, int axis = 0, std::optional<int64_t> seed = {});
// Zeroes elements with probability `rate` and scales the rest by 1 / (1 - rate).
Value dropout(const Value& x, double rate, std::optional<int64_t> seed = {});

}  // namespace stoker::ops::random
