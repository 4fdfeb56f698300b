// A residual network's beginning is the same fused and not, on every backend, in every dtype.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/device_test.h"
#include "engine/reference/reference_backend.h"
#include "engine/residual_tower.h"
#include "support/draw.h"

namespace stoker::test {

namespace {

std::vector<Tensor> run(const ResidualTower& tower, Backend& backend, int times = 1) {
  auto program = backend.compile(tower.graph, {});
  for (int time = 0; time < times; ++time) program->run(tower.inputs);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < tower.graph.outputs().size(); ++i) outputs.push_back(program->output(i));
  return outputs;
}

// |got - expected| / |expected|. Of numbers with k bits about one in 2^k rounds to the other side
// of a relu's kink, which moves the gradients by the root of that; a wrong term moves them by 1.
double distance(const Tensor& got, const Tensor& expected) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    difference += std::pow(got.at(i) - expected.at(i), 2);
    size += std::pow(expected.at(i), 2);
  }
  return std::sqrt(difference / std::max(size, 1e-20));
}

void expect_close(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                  double allowed) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(distance(got[i], expected[i]), allowed) << (i == 0 ? "loss" : "gradient ") << i;
}

std::vector<TowerOptions> sizes() {
  return {{.batch = 3, .channels = 8},
          {.batch = 2, .height = 7, .width = 7, .channels = 30},
          {.batch = 1, .height = 13, .width = 8, .channels = 5, .window = 2},
          {.batch = 4, .height = 12, .width = 12, .channels = 64},
          {.batch = 2, .height = 10, .width = 9, .channels = 72}};
}

TEST(ResidualTower, IsTheSameOnTheCpu) {
#ifdef STOKER_TSAN
  GTEST_SKIP() << "ThreadSanitizer does not see libgomp's synchronisation";
#endif
  for (const TowerOptions& options : sizes()) {
    SCOPED_TRACE(options.text());
    ResidualTower tower(options, 3);
    expect_close(run(tower, backend("cpu"), 2), run(tower, reference_backend()), 1e-4);
  }
}

TEST(ResidualTower, IsTheSameOnTheGpu) {
  if (std::string why; !has_cuda(&why)) GTEST_SKIP() << why;
  uint64_t seed = fresh_seed();
  for (TowerOptions options : sizes())
    for (auto [dtype, allowed] :
         {std::pair{DType::float32, 1e-4}, {DType::float16, 0.1}, {DType::bfloat16, 0.25}}) {
      options.dtype = dtype;
      SCOPED_TRACE(options.text() + ", STOKER_TEST_SEED=" + std::to_string(seed));
      ResidualTower tower(options, seed);
      // Three times: kernels one by one, captured, replayed.
      expect_close(run(tower, backend("cuda"), 3), run(tower, reference_backend()), allowed);
    }
}

}  // namespace

}  // namespace stoker::test
