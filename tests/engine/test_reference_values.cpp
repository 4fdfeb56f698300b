// The reference itself, against numbers worked out by hand from docs/reference/ops.md.
#include <gtest/gtest.h>

#include <cmath>

#include <stoker/random.h>

#include "engine/reference/reference_backend.h"
#include "support/draw.h"
#include "support/run_op.h"

namespace stoker::test {

namespace {

using Floats = std::vector<float>;

std::vector<std::vector<double>> run(const std::string& op, const Attrs& attrs,
                                     const std::vector<Tensor>& inputs) {
  std::vector<std::vector<double>> outputs;
  for (const Tensor& output : run_op(exact_reference(), op, attrs, inputs))
    outputs.push_back(numbers(output));
  return outputs;
}

Tensor f32(const Floats& values, const Shape& shape) { return Tensor::from(values, shape); }
Tensor i64(const std::vector<int64_t>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << "element " << i;
}

Attrs conv_attrs(Ints strides, Ints pads, Ints dilation, int64_t groups) {
  return {{"strides", strides}, {"pads", pads},     {"dilation", dilation},
          {"groups", groups},   {"activation", ""}, {"alpha", 0.0}};
}

TEST(ReferenceValues, ConvolutionDoesNotFlipItsKernel) {
  Tensor x = f32({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1}), w = f32({1, 0, 0, 10}, {2, 2, 1, 1});
  expect_near(run("conv2d", conv_attrs({1, 1}, {0, 0, 0, 0}, {1, 1}, 1), {x, w})[0],
              {51, 62, 84, 95});
}

TEST(ReferenceValues, ConvolutionPadsTopBottomLeftRight) {
  Tensor x = f32({1, 2, 3, 4}, {1, 2, 2, 1}), w = f32({1, 1, 1, 1}, {2, 2, 1, 1});
  expect_near(run("conv2d", conv_attrs({1, 1}, {1, 0, 0, 1}, {1, 1}, 1), {x, w})[0], {3, 2, 10, 6});
}

TEST(ReferenceValues, GroupedConvolutionKeepsGroupsApart) {
  Tensor x = f32({1, 10}, {1, 1, 1, 2}), w = f32({2, 3, 4, 5}, {1, 1, 1, 4});
  expect_near(run("conv2d", conv_attrs({1, 1}, {0, 0, 0, 0}, {1, 1}, 2), {x, w})[0],
              {2, 3, 40, 50});
}

TEST(ReferenceValues, MaxPoolIgnoresPadding) {
  Attrs attrs = {{"window", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 0}}};
  expect_near(
      run("max_pool2d", attrs, {f32({-1, -2, -3, -4, -5, -6, -7, -8, -9}, {1, 3, 3, 1})})[0],
      {-1, -2, -4, -5});
}

TEST(ReferenceValues, AveragePoolDoesNotCountPadding) {
  Attrs attrs = {{"window", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 0}}};
  expect_near(run("avg_pool2d", attrs, {f32({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1})})[0],
              {1, 2.5, 5.5, 7});
}

TEST(ReferenceValues, MaxPoolGradientGoesToTheFirstMaximum) {
  Attrs attrs = {{"window", Ints{1, 4}},
                 {"strides", Ints{1, 4}},
                 {"pads", Ints{0, 0, 0, 0}},
                 {"activation", ""}};
  Tensor x = f32({1, 3, 3, 2}, {1, 1, 4, 1}), y = f32({3}, {1, 1, 1, 1}),
         dy = f32({5}, {1, 1, 1, 1});
  expect_near(run("max_pool2d_grad", attrs, {x, y, dy})[0], {0, 5, 0, 0});
}

TEST(ReferenceValues, BatchNormUsesTheBiasedVariance) {
  Attrs attrs = {{"epsilon", 0.0}, {"activation", ""}};
  auto outputs = run("batch_norm", attrs, {f32({1, 3}, {2, 1}), f32({2}, {1}), f32({10}, {1})});
  expect_near(outputs[0], {8, 12});
  expect_near(outputs[1], {2});
  expect_near(outputs[2], {1});
}

TEST(ReferenceValues, LayerNormNormalisesEachRow) {
  auto outputs = run("layer_norm", {{"epsilon", 0.0}},
                     {f32({1, 3, 10, 30}, {2, 2}), f32({1, 2}, {2}), f32({0, 5}, {2})});
  expect_near(outputs[0], {-1, 7, -1, 7});
  expect_near(outputs[1], {2, 20});
  expect_near(outputs[2], {1, 0.1});
}

TEST(ReferenceValues, SoftmaxAndItsLossesAgree) {
  Tensor logits = f32({0, std::log(3.0F)}, {1, 2});
  expect_near(run("softmax", {}, {logits})[0], {0.25, 0.75});
  expect_near(run("log_softmax", {}, {logits})[0], {std::log(0.25), std::log(0.75)});
  expect_near(run("sparse_softmax_cross_entropy", {}, {logits, i64({1}, {1})})[0],
              {-std::log(0.75)});
  expect_near(run("softmax_cross_entropy", {}, {logits, f32({0.5, 0.5}, {1, 2})})[0],
              {-0.5 * std::log(0.25 * 0.75)});
  expect_near(run("sigmoid_cross_entropy", {}, {f32({std::log(3.0F)}, {1}), f32({1}, {1})})[0],
              {-std::log(0.75)});
}

TEST(ReferenceValues, IntegerDivisionAndCastsTruncate) {
  expect_near(run("binary", {{"fn", "div"}}, {i64({7, -7}, {2}), i64({2, 2}, {2})})[0], {3, -3});
  expect_near(run("cast", {{"dtype", "int32"}}, {f32({1.9F, -1.9F}, {2})})[0], {1, -1});
  expect_near(run("cast", {{"dtype", "bool"}}, {f32({0, -0.5F, 3}, {3})})[0], {0, 1, 1});
}

TEST(ReferenceValues, ArgmaxTakesTheFirstOfEquals) {
  expect_near(run("argmax", {{"axis", int64_t(1)}}, {f32({1, 3, 3, 2, 2, 2}, {2, 3})})[0], {1, 0});
}

TEST(ReferenceValues, InTopKCountsOnlyWhatScoresHigher) {
  Tensor predictions = f32({3, 2, 2, 1, 3, 2, 2, 1}, {2, 4});
  expect_near(run("in_top_k", {{"k", int64_t(2)}}, {predictions, i64({2, 3}, {2})})[0], {1, 0});
}

TEST(ReferenceValues, DropoutKeepsWhatItsStreamSays) {
  Attrs attrs = {{"rate", 0.25}, {"stream", int64_t(5)}};
  auto y = run("dropout", attrs, {Tensor::full({50}, 3), i64({11, 2}, {2})})[0];
  for (uint64_t i = 0; i < 50; ++i)
    EXPECT_NEAR(y[i], unit_float(random_bits(11, 2 * 65536 + 5, i)) >= 0.25F ? 4 : 0, 1e-6) << i;
}

TEST(ReferenceValues, SgdFollowsKeras) {
  Tensor lr(0.1F), p(1.0F), g(2.0F), m(0.5F);
  auto attrs = [](double momentum, bool nesterov, double decay, double clip) {
    return Attrs{{"momentum", momentum},
                 {"nesterov", nesterov},
                 {"weight_decay", decay},
                 {"clipvalue", clip},
                 {"scaled", false}};
  };
  expect_near(run("sgd_update", attrs(0, false, 0, 0), {lr, p, g})[0], {0.8});
  expect_near(run("sgd_update", attrs(0, false, 0.5, 0), {lr, p, g})[0], {0.75});
  expect_near(run("sgd_update", attrs(0, false, 0, 1), {lr, p, g})[0], {0.9});
  auto heavy = run("sgd_update", attrs(0.9, false, 0, 0), {lr, p, g, m});
  expect_near(heavy[1], {0.9 * 0.5 - 0.2});
  expect_near(heavy[0], {1.25});
  expect_near(run("sgd_update", attrs(0.9, true, 0, 0), {lr, p, g, m})[0], {1 + 0.9 * 0.25 - 0.2});
}

TEST(ReferenceValues, AdamsFirstStepIsTheLearningRate) {
  Attrs attrs = {{"beta_1", 0.9},       {"beta_2", 0.999},  {"epsilon", 0.0}, {"amsgrad", false},
                 {"weight_decay", 0.0}, {"clipvalue", 0.0}, {"scaled", true}};
  Tensor zeros = Tensor::zeros({2});
  auto outputs = run("adam_update", attrs,
                     {Tensor(0.1F), Tensor::zeros({}, DType::int64), f32({0.5}, {1}),
                      f32({1, 1}, {2}), f32({4, -2}, {2}), zeros, zeros});
  expect_near(outputs[0], {0.9, 1.1});
  expect_near(outputs[1], {0.2, -0.1});
  expect_near(outputs[2], {0.004, 0.001});
}

TEST(ReferenceValues, RmspropCentresAndCarriesMomentum) {
  Attrs attrs = {{"rho", 0.5},          {"momentum", 0.5},  {"epsilon", 0.0}, {"centered", true},
                 {"weight_decay", 0.0}, {"clipvalue", 0.0}, {"scaled", false}};
  auto outputs =
      run("rmsprop_update", attrs,
          {Tensor(0.1F), Tensor(1.0F), Tensor(2.0F), Tensor(4.0F), Tensor(0.0F), Tensor(0.2F)});
  expect_near(outputs[1], {4});
  expect_near(outputs[2], {1});
  expect_near(outputs[3], {0.1 + 0.2 / std::sqrt(3.0)});
  expect_near(outputs[0], {0.9 - 0.2 / std::sqrt(3.0)});
}

TEST(ReferenceValues, ClipScalesByNormOfEachOrOfAll) {
  std::vector<Tensor> gradients = {f32({3, 4}, {2}), f32({0, 12}, {2})};
  auto each = run("clip_scales", {{"mode", "each"}, {"max_norm", 6.0}}, gradients);
  expect_near(each[0], {1, 0.5});
  expect_near(each[1], {13});
  expect_near(run("clip_scales", {{"mode", "global"}, {"max_norm", 6.5}}, gradients)[0],
              {0.5, 0.5});
}

TEST(ReferenceValues, ReluPassesNaN) {
  Attrs attrs = {{"fn", "relu"}, {"alpha", 0.0}, {"beta", 0.0}};
  EXPECT_TRUE(std::isnan(run("unary", attrs, {f32({NAN}, {1})})[0][0]));
}

TEST(ReferenceValues, ResultsAreRoundedToTheirDtype) {
  Tensor third =
      run_op(reference_backend(), "binary", {{"fn", "div"}}, {Tensor(1.0F), Tensor(3.0F)})[0];
  EXPECT_EQ(third.item(), double(1.0F / 3.0F));
  Tensor wrapped =
      run_op(reference_backend(), "binary", {{"fn", "add"}},
             {Tensor::full({}, 2147483647, DType::int32), Tensor::full({}, 1, DType::int32)})[0];
  EXPECT_EQ(wrapped.item(), -2147483648.0);
}

}  // namespace

}  // namespace stoker::test
