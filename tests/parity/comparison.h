// Whether a result of Stoker is a peer's. An element may differ from the peer's float64 result by
//
//   8 · noise + 4 · 2⁻²³ · scale
//
// where noise is what float32 cost the peer itself and scale is the largest absolute value, both of
// the whole tensor or, where the noise is recorded by row, of the row. README.md derives it.
#pragma once

#include <gtest/gtest.h>

#include "parity/recording.h"

namespace stoker::test {

constexpr double kMultiple = 8;
constexpr double kRoundings = 4;

struct Comparison {
  double share = 0;       // the largest difference in tolerances: above 1 is a disagreement
  std::string text = "";  // where, what was got, what was expected and what was allowed
};
// `got` is float32 of the expected shape; anything else is a disagreement.
Comparison compare(const Tensor& got, const Expected& expected);

// For EXPECT_TRUE. The share becomes a property of the running test: --gtest_output=json lists
// them.
testing::AssertionResult agrees(const Tensor& got, const Expected& expected);

}  // namespace stoker::test
