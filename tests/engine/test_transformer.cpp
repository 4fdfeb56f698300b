// A small language model with everything that engines fuse in one: embedding, heads as slices of one
// product, causal attention, residuals, layer norm, GELU, a head tied to the embedding over many
// classes; its loss and the gradients of all parameters.
#include <cmath>

#include <stoker/attention.h>
#include <stoker/ops.h>
#include <stoker/random.h>

#include "engine/device_test.h"
#include "engine/run_graph.h"
#include "graph/graph.h"

namespace stoker::test {
namespace {

constexpr int64_t kBatch = 2, kLength = 24, kWidth = 64, kHeads = 4, kWords = 1101;

class LanguageModel {
 public:
  // `fused`: heads lie in one product; else each of query, key and value has its own.
  LanguageModel(DType dtype, bool fused, double dropout = 0) : dtype_(dtype) {
    Variable random("random_state", Tensor::from({int64_t(7), int64_t(3)}, {2}));
    state_ = graph.variable(random);
    Value ids = integers("ids"), labels = integers("labels");
    Value words = parameter({kWords, kWidth}, 0.1);
    Value x = ops::gather(words, ids) + parameter({kLength, kWidth}, 0.1);
    for (int block = 0; block < 2; ++block) {
      x = x + dense(attended(normalised(x), fused, dropout), kWidth);
      x = x + dense(ops::gelu(dense(normalised(x), 4 * kWidth), true), kWidth);
    }
    Value logits = ops::matmul(normalised(x), words, {.transpose_b = true});
    Value loss = ops::mean(ops::sparse_softmax_cross_entropy(logits, labels));
    graph.output(loss, "loss");
    for (const Value& gradient : gradients(loss, parameters_)) graph.output(gradient, "gradient");
  }

  Graph graph;
  std::vector<Tensor> inputs;

 private:
  Value integers(const char* name) {
    Tensor numbers(DType::int32, {kBatch, kLength});
    for (int64_t i = 0; i < numbers.elements(); ++i)
      numbers.data_mut<int32_t>()[i] = int32_t(i % 5 == 0 ? 3 : rng_.integer(0, kWords));
    inputs.push_back(numbers);
    return graph.input(name, numbers.spec());
  }
  Value parameter(const Shape& shape, float spread, float middle = 0) {
    Tensor numbers(DType::float32, shape);
    for (int64_t i = 0; i < numbers.elements(); ++i)
      numbers.data_mut<float>()[i] = middle + rng_.uniform(-spread, spread);
    inputs.push_back(numbers);
    parameters_.push_back(graph.input("p", numbers.spec()));
    return in_dtype(parameters_.back());
  }
  Value in_dtype(const Value& x) { return x.dtype() == dtype_ ? x : ops::cast(x, dtype_); }
  Value dense(const Value& x, int64_t units) {
    return ops::matmul(x, parameter({x.shape()[-1], units}, 0.1F)) + parameter({units}, 0.1F);
  }
  Value normalised(const Value& x) {
    Value gamma = graph.input("p", {DType::float32, {kWidth}});
    parameters_.push_back(gamma);
    Value beta = graph.input("p", {DType::float32, {kWidth}});
    parameters_.push_back(beta);
    for (float middle : {1.0F, 0.0F}) {
      Tensor numbers(DType::float32, {kWidth});
      for (int64_t i = 0; i < kWidth; ++i)
        numbers.data_mut<float>()[i] = middle + rng_.uniform(-0.1F, 0.1F);
      inputs.push_back(numbers);
    }
    return ops::layer_norm(x, gamma, beta, 1e-5);
  }
  Value attended(const Value& x, bool fused, double dropout) {
    Shape heads{kBatch, kLength, kHeads, kWidth / kHeads};
    Values parts;
    if (fused)
      parts = ops::split(
          ops::reshape(dense(x, 3 * kWidth), {kBatch, kLength, 3 * kHeads, kWidth / kHeads}), 3, 2);
    else
      for (int i = 0; i < 3; ++i) parts.push_back(ops::reshape(dense(x, kWidth), heads));
    ops::DotProductAttention options{.is_causal = true, .dropout = dropout};
    if (dropout > 0) options.state = state_;
    Value out = ops::dot_product_attention(parts[0], parts[1], parts[2], options);
    return ops::reshape(out, {kBatch, kLength, kWidth});
  }

  DType dtype_;
  Rng rng_{5};
  Value state_;
  Values parameters_;
};

double norm(const Tensor& x) {
  double squares = 0;
  for (int64_t i = 0; i < x.elements(); ++i) squares += x.at(i) * x.at(i);
  return std::sqrt(squares);
}

// How far outputs are from the exact ones, each beside its own norm or, where that is smaller, beside
// a hundredth of the norm of all: the gradient of a key's bias is zero, but for rounding.
std::vector<double> distances(const std::vector<Tensor>& got, const std::vector<Tensor>& exact) {
  double total = 0;
  for (const Tensor& one : exact) total += norm(one) * norm(one);
  std::vector<double> found;
  for (size_t i = 0; i < exact.size(); ++i) {
    double own = norm(exact[i]), beside = std::max(own, 0.01 * std::sqrt(total));
    found.push_back(own == 0 ? norm(got[i]) / beside : distance(got[i], exact[i]) * own / beside);
  }
  return found;
}

using TransformerOnDevice = DeviceTest;
INSTANTIATE_TEST_SUITE_P(Transformer, TransformerOnDevice, ::testing::ValuesIn(device_names()),
                         device_name);

TEST_P(TransformerOnDevice, AgreesWithTheReference) {
  for (bool fused : {true, false}) {
    double dropout = fused ? 0 : 0.2;
    LanguageModel model(DType::float32, fused, dropout);
    std::vector<Tensor> exact = run_graph(model.graph, model.inputs, backend("reference"));
    std::vector<Tensor> got = run_graph(model.graph, model.inputs, device());
    std::vector<double> off = distances(got, exact);
    for (size_t i = 0; i < off.size(); ++i) EXPECT_LT(off[i], 5e-5) << i;
  }
}

// Engines round at other points than the reference, but not worse.
TEST_P(TransformerOnDevice, IsAsNearToTheExactResultIn16BitsAsTheReference) {
  for (DType dtype : {DType::bfloat16, DType::float16}) {
    if (!device().supports("attention", dtype)) continue;
    for (bool fused : {true, false}) {
      double dropout = fused ? 0 : 0.2;
      LanguageModel wide(DType::float32, fused, dropout), model(dtype, fused, dropout);
      std::vector<Tensor> exact = run_graph(wide.graph, wide.inputs, backend("reference"));
      std::vector<Tensor> rounded = run_graph(model.graph, model.inputs, backend("reference"));
      std::vector<Tensor> got = run_graph(model.graph, model.inputs, device());
      std::vector<double> off = distances(got, exact), allowed = distances(rounded, exact);
      for (size_t i = 0; i < off.size(); ++i) EXPECT_LT(off[i], 2 * allowed[i] + 0.003) << i;
    }
  }
}

TEST_P(TransformerOnDevice, RepeatsItsBits) {
  if (!device().supports("attention", DType::bfloat16)) GTEST_SKIP() << "no bfloat16 here";
  LanguageModel model(DType::bfloat16, true);
  std::vector<Tensor> first = run_graph(model.graph, model.inputs, device());
  std::vector<Tensor> again = run_graph(model.graph, model.inputs, device());
  for (size_t i = 0; i < first.size(); ++i)
    for (int64_t at = 0; at < first[i].elements(); ++at)
      ASSERT_EQ(first[i].at(at), again[i].at(at)) << i << " " << at;
}

}  // namespace
}  // namespace stoker::test
