// Generated kernels on a GPU: random graphs agree with the reference, and with themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "engine/fuser/random_moves.h"
#include "engine/fuser/typical_blocks.h"
#include "engine/registry.h"
#include "engine/run_graph.h"
#include "support/run_op.h"

namespace stoker::test {

namespace {

// Generates kernels whatever the size, as long as it lives.
class FuseAll {
 public:
  FuseAll() { ::setenv("STOKER_FUSE_FROM", "0", 1); }  // NOLINT(concurrency-mt-unsafe)
  ~FuseAll() { ::unsetenv("STOKER_FUSE_FROM"); }       // NOLINT(concurrency-mt-unsafe)
};

class CudaKernelGenerated : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (!is_usable("cuda")) GTEST_SKIP() << "no GPU";
  }
};

double allowed_for(DType dtype) {
  return dtype == DType::float32 ? 2e-5 : dtype == DType::float16 ? 1e-2 : 6e-2;
}

// 16-bit floats round at other places than the reference, and a kink may fall on the other side:
// outputs are compared as a whole.
void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                  DType dtype) {
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(distance(got[i], expected[i]), allowed_for(dtype)) << "output " << i;
}

TEST_P(CudaKernelGenerated, AgreeWithTheReferenceOnRandomGraphs) {
  FuseAll all;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    // Casts and maxima of sixteen bits have several winners: forwards alone.
    RandomMoves moves(seed, {.dtype = GetParam(),
                             .scale = seed % 3 == 0 ? 3 : 1,
                             .gradients = GetParam() == DType::float32});
    SCOPED_TRACE(std::to_string(seed) + ": " + moves.story);
    std::vector<Tensor> got = run_graph(moves.graph, moves.inputs, backend("cuda"));
    expect_close(got, run_graph(moves.graph, moves.inputs, backend("reference")), GetParam());
    if (HasFailure()) return;
  }
}

TEST_P(CudaKernelGenerated, GiveTheSameBitsInEveryRun) {
  FuseAll all;
  for (uint64_t seed = 100; seed < 110; ++seed) {
    RandomMoves moves(seed, {.dtype = GetParam(), .scale = 4});
    SCOPED_TRACE(std::to_string(seed) + ": " + moves.story);
    std::vector<Tensor> first = run_graph(moves.graph, moves.inputs, backend("cuda"), 1);
    std::vector<Tensor> later = run_graph(moves.graph, moves.inputs, backend("cuda"), 4);
    for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i] == later[i]) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Float, CudaKernelGenerated,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         [](const auto& each) { return std::string(name(each.param)); });

}  // namespace

}  // namespace stoker::test
