// Whole classifiers of many sizes on the GPU against the reference: what runs as one kernel there
// (stems, heads) gives what its ops give one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "engine/device_test.h"
#include "engine/kernel_work.h"
#include "engine/networks.h"
#include "engine/reference/reference_backend.h"
#include "engine/run_graph.h"
#include "graph/passes/passes.h"
#include "support/draw.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

struct Classifier {
  int64_t batch, size, channels;
  std::vector<int64_t> filters;  // a convolution, bias, relu and pooling each
  int64_t classes;
  bool bias = true;
  DType labels = DType::int64;
  bool widened = false;  // the loss is counted in float32, as mixed precision does

  std::string name() const {
    std::string text = fmt::format("b{}_s{}_c{}", batch, size, channels);
    for (int64_t count : filters) text += fmt::format("_f{}", count);
    return text + fmt::format("_k{}{}{}{}", classes, bias ? "" : "_plain",
                              labels == DType::int32 ? "_int32" : "", widened ? "_widened" : "");
  }
};

// What a net's graph ends with: its gradients, a step of Adam, or both.
enum class Ends : uint8_t { gradients, step, gradients_and_step };

class Net {
 public:
  Net(const Classifier& kind, DType dtype, uint64_t seed, Ends ends = Ends::gradients)
      : rng_(seed, 1), dtype_(dtype) {
    Value x = input("x", {DType::float32, {kind.batch, kind.size, kind.size, kind.channels}}, {});
    Value y = input("y", {kind.labels, {kind.batch}}, {0, double(kind.classes)});
    x = computed(x);
    for (int64_t count : kind.filters) x = block(x, count);
    x = ops::flatten(x);
    Value w = parameter({x.shape()[1], kind.classes}, 2 / std::sqrt(double(x.shape()[1])));
    Value logits = ops::matmul(x, w);
    if (kind.bias) logits = logits + parameter({kind.classes}, 0.5);
    graph_.output(logits, "logits");
    if (kind.widened) logits = ops::cast(logits, DType::float32);
    Value loss = ops::mean(ops::sparse_softmax_cross_entropy(logits, y));
    graph_.output(loss, "loss");
    Graph::Scope backward(graph_, Phase::backward);
    Values found = gradients(loss * 64.0, parameters_);
    if (ends != Ends::step)
      for (size_t i = 0; i < found.size(); ++i) graph_.output(found[i], parameters_[i].name());
    if (ends != Ends::gradients)
      add_adam(graph_, parameters_, found, {.weight_decay = 0.01, .clipvalue = 0.5});
  }

  std::vector<Tensor> run(Backend& engine) const { return run_graph(graph_, inputs_, engine); }
  Graph& graph() { return graph_; }
  const std::vector<Variable>& parameters() const { return parameters_; }
  const std::string& output(size_t i) const { return graph_.outputs()[i].name; }

 private:
  Value input(const std::string& name, const TensorSpec& spec, const Fill& fill) {
    inputs_.push_back(draw(spec, fill, rng_));
    return graph_.input(name, spec);
  }
  Value computed(const Value& value) {
    return dtype_ == DType::float32 ? value : ops::cast(value, dtype_);
  }
  Value parameter(const Shape& shape, double range) {
    parameters_.emplace_back(fmt::format("p{}", parameters_.size()),
                             draw({DType::float32, shape}, {-range, range}, rng_));
    return computed(graph_.variable(parameters_.back()));
  }
  Value block(const Value& x, int64_t filters) {
    int64_t channels = x.shape()[3];
    double range = 2 / std::sqrt(9.0 * double(channels));
    Value w = parameter({3, 3, channels, filters}, range), b = parameter({filters}, 0.2);
    return ops::max_pool2d(ops::relu(ops::conv2d(x, w) + b));
  }

  Rng rng_;
  DType dtype_;
  Graph graph_;
  std::vector<Variable> parameters_;
  std::vector<Tensor> inputs_;
};

std::vector<Classifier> kinds() {
  return {
      {32, 12, 1, {64, 128}, 10},
      {1, 28, 1, {16, 24}, 10},
      {5, 13, 1, {8}, 3},
      {7, 11, 1, {40}, 100, false, DType::int32},
      {3, 14, 3, {30, 16}, 10},
      {300, 7, 1, {16}, 10, true, DType::int64, true},
      {33, 9, 1, {72}, 17, true, DType::int32, true},
      {4, 15, 1, {30, 30}, 10},
      {270, 7, 3, {24}, 12, false},
      {2, 7, 1, {16}, 128, true, DType::int64, true},
      {6, 7, 8, {}, 10},
  };
}

class Classifiers : public ::testing::TestWithParam<Classifier> {};
INSTANTIATE_TEST_SUITE_P(Of, Classifiers, ::testing::ValuesIn(kinds()),
                         [](const auto& param) { return param.param.name(); });

// Against the graph that the rules of passes/ leave, whose ops round once for bias and relu too.
// Sums in another order change last bits, and with them, here and there, which of two equal pixels
// wins a pooling; a wrong term or place is far larger.
TEST_P(Classifiers, AreTheSameOnTheGpu) {
  if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  uint64_t seed = fresh_seed();
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    Net net(GetParam(), dtype, seed), fused(GetParam(), dtype, seed);
    passes::fuse(fused.graph());
    std::vector<Tensor> expected = fused.run(reference_backend());
    std::vector<Tensor> got = net.run(backend("cuda"));
    double allowed = dtype == DType::float32 ? 1e-5 : dtype == DType::float16 ? 5e-3 : 3e-2;
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LE(distance(got[i], expected[i]), allowed)
          << net.output(i) << " in " << name(dtype) << ", STOKER_TEST_SEED=" << seed;
  }
}

TEST_P(Classifiers, AreTheSameOnTheCpu) {
  STOKER_SKIP_UNDER_TSAN();
  Net net(GetParam(), DType::float32, 5);
  std::vector<Tensor> expected = net.run(reference_backend()), got = net.run(backend("cpu"));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LE(distance(got[i], expected[i]), 1e-4) << net.output(i);
}

TEST_P(Classifiers, CountTheWorkOfEveryOpOnce) {
  for (const std::string& device : device_names())
    for (Ends ends : {Ends::gradients, Ends::step}) {
      Net net(GetParam(), DType::float32, 5, ends);
      expect_all_work(net.graph(), backend(device), device);
    }
  if (!is_usable("cuda")) return;
  Net net(GetParam(), DType::bfloat16, 5, Ends::step);
  expect_all_work(net.graph(), backend("cuda"), "bfloat16");
}

// Where nobody else reads a stem's gradient, its kernel takes the optimiser's step too, and others'
// gradients are read in cuDNN's order: bit for bit the steps that are taken with gradients apart.
TEST_P(Classifiers, TakeTheSameStepsWithAndWithoutTheirGradients) {
  if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    Net net(GetParam(), dtype, 3, Ends::step),
        apart(GetParam(), dtype, 3, Ends::gradients_and_step);
    net.run(backend("cuda"));
    apart.run(backend("cuda"));
    for (size_t i = 0; i < net.parameters().size(); ++i) {
      Tensor got = net.parameters()[i].read(), expected = apart.parameters()[i].read();
      ASSERT_EQ(std::memcmp(got.raw(), expected.raw(), expected.bytes()), 0)
          << net.parameters()[i].name() << " in " << name(dtype);
    }
  }
}

TEST(Stems, TakeTheOptimisersStepOnTheGpu) {
  if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  auto takes_step = [](Ends ends) {
    Net net({32, 28, 1, {64, 128}, 10}, DType::bfloat16, 1, ends);
    auto program = backend("cuda").compile(net.graph(), {});
    return std::ranges::any_of(program->kernels(), [](const KernelInfo& info) {
      return info.kernel == "own:stem+update";
    });
  };
  EXPECT_TRUE(takes_step(Ends::step));
  EXPECT_FALSE(takes_step(Ends::gradients_and_step)) << "somebody else reads its gradient";
}

TEST(Heads, RunAsOneKernelOnTheGpu) {
  if (std::string why; !is_usable("cuda", &why)) GTEST_SKIP() << why;
  auto has_head = [](const Classifier& kind) {
    Net net(kind, DType::bfloat16, 1);
    auto program = backend("cuda").compile(net.graph(), {});
    return std::ranges::any_of(program->kernels(),
                               [](const KernelInfo& info) { return info.op == "head"; });
  };
  EXPECT_TRUE(has_head({32, 28, 1, {64, 128}, 10}));
  EXPECT_TRUE(has_head({32, 28, 1, {64, 128}, 10, true, DType::int64, true}));
  EXPECT_TRUE(has_head({300, 7, 1, {16}, 100}));
  EXPECT_FALSE(has_head({4, 13, 1, {30}, 10})) << "750 features are no multiple of eight";
  EXPECT_FALSE(has_head({4, 28, 1, {64}, 1000})) << "too many classes";
}

}  // namespace

}  // namespace stoker::test
