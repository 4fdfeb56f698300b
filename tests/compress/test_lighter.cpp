// Lighter architectures: separable convolutions, width, low rank.
#include <stoker/applications.h>
#include <stoker/flops.h>
#include <stoker/lighter.h>

#include <algorithm>

#include "compress/symmetric_eigen.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

class LighterModels : public testing::Test {
 protected:
  OnDevice device_{"cpu", 7};
};

Model convolutions() {
  return Sequential(
      {Input({8, 8, 3}),
       Conv2D(
           16, 3,
           {.padding = "same", .activation = "relu", .kernel_regularizer = L2(1e-4), .name = "a"}),
       Conv2D(8, 1, {.name = "point"}), Conv2D(12, 3, {.strides = 2, .name = "b"}),
       Flatten({.name = "flat"}), Dense(4, {.name = "head"})});
}

TEST_F(LighterModels, SeparableReplacesConvolutionsAndKeepsTheRest) {
  Model model = convolutions();
  Lighter lighter = separable(model);
  EXPECT_EQ(lighter.model.get_layer("a").base().kind(), "SeparableConv2D");
  EXPECT_EQ(lighter.model.get_layer("point").base().kind(), "Conv2D");
  EXPECT_EQ(lighter.model.get_layer("b").weights()[0].shape(), (Shape{3, 3, 8, 1}));
  EXPECT_EQ(lighter.model.get_layer("head").get_weights(), model.get_layer("head").get_weights());
  EXPECT_LT(lighter.report.parameters_after, lighter.report.parameters_before);
  EXPECT_LT(*lighter.report.flops_after, *lighter.report.flops_before);
  ASSERT_EQ(lighter.report.changes.size(), 2U);
  EXPECT_GT(*lighter.report.changes[0].error, 0);
  EXPECT_TRUE(says(lighter.report.text(), {"Conv2D → SeparableConv2D", "Unchanged: point", "1×1"}));
}

TEST_F(LighterModels, SeparableIsExactWithEnoughDepthwiseFilters) {
  Model model = Sequential({Input({8, 8, 3}), Conv2D(64, 3, {.name = "a"})});
  Lighter lighter = separable(model, {.depth_multiplier = 7});
  EXPECT_LT(*lighter.report.changes[0].error, 0.5);
  // A kernel of rank one per channel is found again.
  Tensor kernel = Tensor::zeros({3, 3, 3, 64});
  float* values = kernel.data_mut<float>();
  for (int64_t place = 0; place < 9; ++place)
    for (int64_t channel = 0; channel < 3; ++channel)
      for (int64_t filter = 0; filter < 64; ++filter)
        values[(place * 3 + channel) * 64 + filter] =
            float(place + 1 - channel * 2) * 0.1F * float(filter % 5 - 2 + channel);
  model.get_layer("a").set_weights({kernel, normal({64}, 3)});
  Lighter exact = separable(model);
  EXPECT_NEAR(*exact.report.changes[0].error, 0, 1e-5);
  Tensor x = normal({2, 8, 8, 3}, 4);
  expect_near(exact.model.predict({x}), model.predict({x}), 1e-4);
}

TEST_F(LighterModels, LowRankFactorsAreTheBestOnes) {
  Model model = Sequential(
      {Input({40}), Dense(60, {.activation = "relu", .name = "wide"}), Dense(3, {.name = "head"})});
  // Of rank 4, and a little noise.
  Tensor left = normal({40, 4}, 1), right = normal({4, 60}, 2),
         kernel = normal({40, 60}, 3).clone();
  float* values = kernel.data_mut<float>();
  for (int64_t row = 0; row < 40; ++row)
    for (int64_t column = 0; column < 60; ++column) {
      float sum = 1e-4F * values[row * 60 + column];
      for (int64_t part = 0; part < 4; ++part)
        sum += float(left.at(row * 4 + part) * right.at(part * 60 + column));
      values[row * 60 + column] = sum;
    }
  model.get_layer("wide").set_weights({kernel, normal({60}, 5)});
  Lighter lighter = low_rank(model, {.layers = {"wide"}, .energy = 0.999});
  EXPECT_EQ(lighter.model.get_layer("wide/left").weights()[0].shape(), (Shape{40, 4}));
  EXPECT_LT(*lighter.report.changes[0].error, 1e-3);
  Tensor x = normal({5, 40}, 6);
  expect_near(lighter.model.predict({x}), model.predict({x}), 2e-3);
  EXPECT_TRUE(says(lighter.report.text(), {"rank 4", "parameters"}));
}

TEST(SymmetricEigen, GivesTheMatrixBack) {
  for (int64_t n : {1, 2, 3, 17, 60}) {
    Tensor half = normal({n, n}, uint64_t(n));
    auto size = static_cast<size_t>(n);
    std::vector<std::vector<double>> rows(size, std::vector<double>(size));
    for (size_t row = 0; row < size; ++row)
      for (size_t column = 0; column < size; ++column)
        rows[row][column] = half.at(int64_t(row) * n + int64_t(column)) +
                            half.at(int64_t(column) * n + int64_t(row));
    if (n == 17) rows.assign(17, std::vector<double>(17, 1.0));  // of rank one
    compress::SymmetricEigen eigen = compress::symmetric_eigen(rows);
    EXPECT_TRUE(std::ranges::is_sorted(eigen.values, std::greater<>()));
    for (size_t row = 0; row < size; ++row)
      for (size_t column = 0; column < size; ++column) {
        double sum = 0, overlap = 0;
        for (size_t part = 0; part < size; ++part) {
          sum += eigen.values[part] * eigen.vectors[part][row] * eigen.vectors[part][column];
          overlap += eigen.vectors[row][part] * eigen.vectors[column][part];
        }
        ASSERT_NEAR(sum, rows[row][column], 1e-11 * double(n)) << n;
        ASSERT_NEAR(overlap, row == column ? 1 : 0, 1e-12 * double(n)) << n;
      }
  }
}

TEST_F(LighterModels, LowRankFactorsAreTheBestOnesOfWideKernels) {
  Model model = Sequential({Input({30}), Dense(90, {.name = "wide"})});
  Lighter lighter = low_rank(model, {.rank = 20});
  Tensor kernel = model.get_layer("wide").get_weights()[0];
  std::vector<Tensor> factors = lighter.model.get_layer("wide").get_weights();
  double lost = 0, all = 0;
  for (int64_t row = 0; row < 30; ++row)
    for (int64_t column = 0; column < 90; ++column) {
      double sum = 0, old = kernel.at(row * 90 + column);
      for (int64_t part = 0; part < 20; ++part)
        sum += factors[0].at(row * 20 + part) * factors[1].at(part * 90 + column);
      lost += (old - sum) * (old - sum);
      all += old * old;
    }
  EXPECT_NEAR(std::sqrt(lost / all), *lighter.report.changes[0].error, 1e-5);
  EXPECT_LT(*lighter.report.changes[0].error, 0.5);
}

TEST_F(LighterModels, LowRankLeavesLayersThatWouldGrow) {
  Model model = convolutions();
  EXPECT_TRUE(says(error_of<ValueError>([&] { low_rank(model, {.layers = {"head"}, .rank = 4}); }),
                   {"\"head\"", "no lighter"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { low_rank(model, {.layers = {"flat"}}); }),
                   {"\"flat\"", "no Dense"}));
  EXPECT_THROW(low_rank(model, {.energy = 1.5}), ValueError);
  EXPECT_THROW(low_rank(model, {.rank = 0}), ValueError);
  EXPECT_THROW(separable(model, {.depth_multiplier = 0}), ValueError);
  EXPECT_TRUE(says(error_of<ValueError>([&] { separable(model, {.layers = {"point"}}); }),
                   {"\"point\"", "1×1"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { separable(model, {.layers = {"c"}}); }),
                   {"separable: there is no layer \"c\""}));
}

TEST_F(LighterModels, WidthScalesEveryLayerButTheEnds) {
  for (const char* name : {"resnet18", "mobilenet", "cnn"}) {
    SCOPED_TRACE(name);
    Model model = applications::by_name(name, {.input_shape = {32, 32, 3}, .classes = 5});
    for (double multiplier : {0.5, 1.5}) {
      Lighter scaled = scale_width(model, multiplier);
      EXPECT_EQ(scaled.model.outputs()[0].shape(), model.outputs()[0].shape());
      double ratio = *scaled.report.flops_after / *scaled.report.flops_before;
      EXPECT_NEAR(ratio, multiplier * multiplier, 0.25 * multiplier * multiplier);
      EXPECT_EQ(scaled.model.predict({normal({2, 32, 32, 3}, 1)}).shape(), (Shape{2, 5}));
    }
  }
}

TEST_F(LighterModels, WidthRoundsToMultiples) {
  Model model = Sequential({Input({8}), Dense(100, {.name = "wide"}), Dense(5, {.name = "small"}),
                            Dense(3, {.name = "head"})});
  Model half = scale_width(model, 0.5).model;
  EXPECT_EQ(half.get_layer("wide").weights()[0].shape(), (Shape{8, 48}));
  EXPECT_EQ(half.get_layer("small").weights()[0].shape(), (Shape{48, 3}));
  Model kept = scale_width(model, 0.5, {.exclude = {"wide"}}).model;
  EXPECT_EQ(kept.get_layer("wide").weights()[0].shape(), (Shape{8, 100}));
  for (double multiplier : {0.0, -1.0, 1e300, std::nan("")})
    EXPECT_THROW(scale_width(model, multiplier), ValueError);
}

}  // namespace
}  // namespace stoker
