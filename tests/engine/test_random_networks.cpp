// Random networks give the same loss and gradients fused and not, on the CPU and on the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "engine/random_network.h"
#include "engine/reference/reference_backend.h"
#include "engine/run_graph.h"
#include "graph/passes/passes.h"
#include "support/draw.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

constexpr uint64_t kNetworks = 80;

// Always the same networks, unless the environment asks for others.
uint64_t first_seed() { return std::getenv("STOKER_TEST_SEED") == nullptr ? 0 : fresh_seed(); }

std::vector<Tensor> run(const RandomNetwork& network, Backend& backend, int times = 0) {
  return run_graph(network.graph, network.inputs, backend, times);
}

// Rounding grows through the layers, and a value may round to the other side of a kink; a wrong
// term is a hundred times larger. A gradient that is zero by nature, as that of an offset in front
// of a batch norm, is what remains of terms as large as those of the others: up to 5e-6 of them in
// 3,200 networks. So a tenth of what the largest is allowed is allowed everywhere.
void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  double of_all = 1;
  for (const Tensor& tensor : expected) of_all = std::max(of_all, double(largest(tensor)));
  for (size_t output = 0; output < expected.size(); ++output) {
    double allowed = 1e-4 * largest(expected[output]) + 1e-5 * of_all;
    for (int64_t i = 0; i < expected[output].elements(); ++i)
      ASSERT_NEAR(got[output].at(i), expected[output].at(i), allowed)
          << (output == 0 ? "loss" : "gradient") << " " << output << ", element " << i;
  }
}

TEST(RandomNetworks, AreTheSameBeforeAndAfterFusion) {
  int fused = 0;
  for (uint64_t i = 0; i < kNetworks; ++i) {
    RandomNetwork network(first_seed() + i);
    SCOPED_TRACE(std::to_string(first_seed() + i) + ": " + network.story);
    std::vector<Tensor> expected = run(network, reference_backend());
    passes::FusionReport report = passes::fuse(network.graph);
    passes::merge_duplicates(network.graph);
    fused += report.bias + report.activation + report.bias_gradient + report.activation_gradient;
    expect_close(run(network, reference_backend()), expected);
  }
  EXPECT_GT(fused, int(kNetworks));
}

TEST(RandomNetworks, AreTheSameBeforeAndAfterPaddingIsFolded) {
  int folded = 0;
  for (uint64_t i = 0; i < kNetworks; ++i) {
    RandomNetwork network(first_seed() + i);
    SCOPED_TRACE(std::to_string(first_seed() + i) + ": " + network.story);
    std::vector<Tensor> expected = run(network, reference_backend());
    folded += passes::fold_padding(network.graph);
    expect_close(run(network, reference_backend()), expected);
  }
  EXPECT_GT(folded, 0);
}

TEST(RandomNetworks, AreTheSameOnTheCpu) {
  STOKER_SKIP_UNDER_TSAN();
  for (uint64_t i = 0; i < kNetworks; ++i) {
    RandomNetwork network(first_seed() + i);
    SCOPED_TRACE(std::to_string(first_seed() + i) + ": " + network.story);
    // Twice on the CPU: the second run finds memory as the first one left it.
    expect_close(run(network, backend("cpu"), 2), run(network, reference_backend()));
  }
}

TEST(RandomNetworks, AreTheSameOnTheGpu) {
  if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  for (uint64_t i = 0; i < kNetworks; ++i) {
    RandomNetwork network(first_seed() + i);
    SCOPED_TRACE(std::to_string(first_seed() + i) + ": " + network.story);
    expect_close(run(network, backend("cuda")), run(network, reference_backend()));
  }
}

}  // namespace

}  // namespace stoker::test
