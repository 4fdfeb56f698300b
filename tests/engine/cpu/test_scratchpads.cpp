// oneDNN writes behind scratchpads that it made for some numbers of threads: the arena has room for
// it. The heap notices where it has not (and AddressSanitizer at once).
#include <gtest/gtest.h>

#include <cmath>

#include <stoker/ops.h>

#include "engine/cpu/cpu_backend.h"
#include "engine/reference/reference_backend.h"
#include "support/draw.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

// A step of two 1×1 convolutions, as residual networks have them, with all its gradients.
std::vector<Tensor> run_step(Backend& backend, int64_t stride, int threads) {
  Graph graph;
  Rng rng = named_rng(1, "scratchpads");
  std::vector<Tensor> inputs;
  Values x;
  for (const Shape& shape : {Shape{8, 16, 16, 3}, Shape{1, 1, 3, 8}, Shape{1, 1, 8, 16}}) {
    TensorSpec spec{DType::float32, shape};
    x.push_back(graph.input("x", spec));
    inputs.push_back(draw(spec, {}, rng));
  }
  Value y = ops::conv2d(ops::conv2d(x[0], x[1]), x[2], {.strides = {stride, stride}});
  for (const Value& gradient : gradients(ops::sum(y * y), x)) graph.output(gradient, "gradient");
  CompileOptions options;
  options.threads = threads;
  auto program = backend.compile(graph, options);
  program->run(inputs);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < graph.outputs().size(); ++i) outputs.push_back(program->output(i));
  return outputs;
}

class CpuScratchpads : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(OfStride, CpuScratchpads, testing::Values(1, 2));

TEST_P(CpuScratchpads, HoldWhatOneDnnWritesBehindThemAtAnyThreadCount) {
  STOKER_SKIP_UNDER_TSAN();
  std::vector<Tensor> expected = run_step(reference_backend(), GetParam(), 1);
  for (int threads : {1, 2, 3, 5, 12, 16}) {
    std::vector<Tensor> got = run_step(cpu_backend(), GetParam(), threads);
    for (size_t i = 0; i < got.size(); ++i)
      for (int64_t at = 0; at < got[i].shape().elements(); ++at)
        ASSERT_NEAR(got[i].data<float>()[at], expected[i].data<float>()[at],
                    1e-4 * (1 + std::abs(expected[i].data<float>()[at])))
            << threads << " threads, gradient " << i;
  }
}

}  // namespace

}  // namespace stoker::test
