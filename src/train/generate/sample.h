// One token from the logits of a row.
#pragma once

#include <span>

#include <stoker/generate.h>

namespace stoker {

// Where a draw stands: equal places draw equal numbers.
struct DrawPlace {
  uint64_t seed = 0;
  size_t row = 0, index = 0;
};

// ValueError for options out of range, or without effect.
void check_sampling(const GenerateOptions& options);
// The chosen id; may reorder nothing and change nothing. NonFiniteError for NaN, and where no token
// is left.
int64_t sample_token(std::span<const float> logits, const GenerateOptions& options,
                     const DrawPlace& place);

}  // namespace stoker
