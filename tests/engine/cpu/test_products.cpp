// Matrix products at the sizes for which the CPU engine leaves oneDNN's kernels.
#include <gtest/gtest.h>

#include "support/op_checks.h"
#include "support/run_op.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

struct Size {
  int64_t m, n, k;
};

void PrintTo(const Size& at, std::ostream* out) { *out << at.m << " x " << at.n << " of " << at.k; }

class TransposedProducts : public ::testing::TestWithParam<Size> {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
};

TEST_P(TransposedProducts, MatchTheReference) {
  auto [m, n, k] = GetParam();
  OpCase op_case{"", {{"transpose_a", true}}, {{{k, m}}, {{k, n}}}, sums(double(k), {0, 1})};
  EXPECT_EQ(compare_with_reference(backend("cpu"), "matmul", op_case, DType::float32, fresh_seed()),
            "");
}

// Whole blocks; columns that fill no tile; samples beyond a block; workers with nothing to do.
INSTANTIATE_TEST_SUITE_P(Sizes, TransposedProducts,
                         ::testing::Values(Size{256, 128, 128}, Size{512, 133, 129},
                                           Size{256, 300, 515}, Size{768, 130, 257}));

}  // namespace

}  // namespace stoker::test
