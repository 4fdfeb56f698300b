// Post-training quantisation: what runs in int8, how it is calibrated and stored, what is refused.
#include <stoker/quantize.h>

#include <limits>

#include "../examples/digits.h"
#include "compress/int8_helpers.h"
#include "support/temp_dir.h"

namespace stoker {
namespace {

using namespace test;

class Quantization : public testing::Test {
 protected:
  OnDevice device_{"cpu", 7};
};

Model small_cnn() {
  return Sequential(
      {Input({12, 12, 3}),
       Conv2D(16, 3, {.padding = "same", .activation = "relu", .name = "first"}),
       MaxPooling2D(2, {.name = "pool"}), Conv2D(24, 3, {.use_bias = false, .name = "second"}),
       BatchNormalization({.name = "norm"}), Activation("relu", {.name = "relu"}),
       Flatten({.name = "flat"}), Dense(10, {.activation = "softmax", .name = "head"})});
}

TEST_F(Quantization, RunsConvolutionsAndDenseLayersInInt8) {
  Model model = small_cnn();
  shake_norms(model);
  Tensor x = normal({64, 12, 12, 3}, 1), before = model.predict({x});
  Quantized q = quantize(model, x);
  SCOPED_TRACE(q.report.text());
  EXPECT_EQ(q.model.get_layer("second").base().kind(), "QuantizedConv2D");
  EXPECT_EQ(q.model.get_layer("second").weights()[0].dtype(), DType::int8);
  EXPECT_EQ(q.model.get_layer("second").weights()[0].shape(), (Shape{24, 3, 3, 16}));
  EXPECT_EQ(q.model.get_layer("head").base().kind(), "QuantizedDense");
  EXPECT_TRUE(says(q.report.text(), {"second: Conv2D + BatchNormalization + relu → int8",
                                     "head: Dense → int8, result in float32", "64 samples"}));
  EXPECT_NEAR(*q.report.int8_share, 1, 0.05);
  EXPECT_LT(q.report.weight_bytes_after * 3, q.report.weight_bytes_before);
  expect_near(q.model.predict({x}), before, 0.02);
  EXPECT_EQ(model.predict({x}), before);  // stays as it is
}

TEST_F(Quantization, StaysInInt8BetweenLayers) {
  Quantized q = quantize(small_cnn(), normal({16, 12, 12, 3}, 1));
  SCOPED_TRACE(q.report.text());
  EXPECT_EQ(count_kind(q.model, "Quantize"), 1);
  EXPECT_EQ(count_kind(q.model, "Dequantize"), 0);
  EXPECT_EQ(count_kind(q.model, "QuantizedMaxPooling2D"), 1);
}

TEST_F(Quantization, KeepsTheAccuracyOfATrainedNetwork) {
  Digits train = draw_digits(1500, 1), test = draw_digits(800, 2);
  Model model =
      Sequential({Input({28, 28, 1}), Conv2D(8, 3, {.strides = 2, .use_bias = false}),
                  BatchNormalization(), ReLU(), Conv2D(16, 3, {.activation = "relu"}),
                  MaxPooling2D(2), Flatten(), Dense(32, {.activation = "relu"}), Dense(10)});
  model.compile({.optimizer = Adam({.learning_rate = 3e-3}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(train.x, train.y, {.epochs = 3, .verbose = 0});
  double before = model.evaluate(test.x, test.y)["accuracy"];
  EXPECT_GT(before, 0.8);
  for (Calibration how : {Calibration::min_max, Calibration::percentile, Calibration::entropy}) {
    Quantized q = quantize(model, train.x.slice(0, 256), {.calibration = how});
    q.model.compile(
        {.loss = SparseCategoricalCrossentropy({.from_logits = true}), .metrics = {"accuracy"}});
    EXPECT_GE(q.model.evaluate(test.x, test.y)["accuracy"], before - 0.005) << int(how);
  }
}

TEST_F(Quantization, IsTheSameAtAnyThreadCountAndAfterAFile) {
  Quantized q = quantize(small_cnn(), normal({16, 12, 12, 3}, 1));
  Tensor x = normal({5, 12, 12, 3}, 2), expected = q.model.predict({x});
  TempDir dir;
  q.model.save(dir / "model");
  for (int threads : {1, 2, 3, 5}) {
    set_threads({.compute = threads});
    EXPECT_EQ(load_model(dir / "model").predict({x}), expected) << threads;
  }
  set_threads({});
}

TEST_F(Quantization, FindsRangesThatLeaveOutliersOut) {
  Model model = Sequential({Input({50}), Dense(8, {.name = "dense"})});
  Tensor x = normal({200, 50}, 1).clone();
  x.data_mut<float>()[77] = 1000;
  auto high = [&](Calibration how) {
    return quantize(model, x, {.calibration = how, .percentile = 99.9}).report.activations[0].high;
  };
  EXPECT_EQ(high(Calibration::min_max), 1000);
  EXPECT_LT(high(Calibration::percentile), 10);
  EXPECT_LT(high(Calibration::entropy), 500);
}

TEST_F(Quantization, TakesADatasetAndAsManyStepsAsAsked) {
  Model model = Sequential({Input({4}), Dense(3)});
  Data points = blobs(100, 4, 3, 1);
  stoker::data::Dataset batches = stoker::data::from_tensor_slices({points.x, points.y}).batch(10);
  EXPECT_EQ(quantize(model, batches).report.samples, 100);
  EXPECT_EQ(quantize(model, batches, {.steps = 3}).report.samples, 30);
}

TEST_F(Quantization, StoresZerosOfARangeWithoutExtent) {
  Model model = Sequential({Input({4}), Dense(3, {.bias_initializer = "ones"})});
  Quantized q = quantize(model, Tensor::zeros({8, 4}));
  EXPECT_TRUE(says(q.report.text(), {"Always 0 on the calibration data"}));
  expect_near(q.model.predict({Tensor::zeros({2, 4})}), Tensor::full({2, 3}, 1), 1e-4);
}

TEST_F(Quantization, StoresFiltersOfZerosWithTheirBias) {
  Model model = Sequential({Input({4}), Dense(3, {.name = "dense"})});
  model.get_layer("dense").set_weights(
      {Tensor::zeros({4, 3}), Tensor::from<float>({5, -1e6F, 0}, {3})});
  Quantized q = quantize(model, normal({8, 4}, 1));
  expect_near(q.model.predict({normal({1, 4}, 2)}), Tensor::from<float>({5, -1e6F, 0}, {1, 3}), 1);
}

TEST_F(Quantization, KeepsSevenBitWeightsInSevenBits) {
  Model model = small_cnn();
  Tensor x = normal({16, 12, 12, 3}, 1);
  Quantized q = quantize(model, x, {.weight_bits = 7});
  Tensor stored = q.model.get_layer("second").get_weights()[0];
  for (int8_t weight : stored.values<int8_t>()) ASSERT_LE(std::abs(int(weight)), 63);
  expect_near(q.model.predict({x}), model.predict({x}), 0.03);
}

TEST_F(Quantization, RefusesWhatCannotBe) {
  Model model = small_cnn();
  Tensor x = normal({8, 12, 12, 3}, 1);
  auto error = [&](auto call) { return error_of<ValueError>(call); };
  EXPECT_TRUE(says(error([&] { quantize(model, x.slice(0, 0)); }), {"no samples"}));
  EXPECT_TRUE(says(error([&] { quantize(model, Batches()); }), {"no samples"}));
  EXPECT_TRUE(says(error([&] { quantize(model, TensorList()); }), {"no samples"}));
  Tensor bad = x.clone();
  bad.data_mut<float>()[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(says(error([&] { quantize(model, bad); }), {"nan", "calibration data"}));
  bad.data_mut<float>()[100] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(says(error([&] { quantize(model, bad); }), {"inf"}));
  EXPECT_TRUE(says(error([&] { quantize(model, x, {.layers = {"nowhere"}}); }),
                   {"there is no layer \"nowhere\""}));
  EXPECT_TRUE(says(error([&] { quantize(model, x, {.weight_bits = 6}); }), {"weight_bits is 6"}));
  EXPECT_TRUE(says(error([&] { quantize(model, x, {.percentile = 0}); }), {"percentile is 0"}));
  EXPECT_TRUE(says(error([&] { quantize(model, x, {.steps = 0}); }), {"steps is 0"}));
  EXPECT_TRUE(says(error([&] { quantize(model); }), {"calibration data"}));
  Model lstm = Sequential({Input({5, 3}), LSTM(4, {.name = "lstm"})});
  EXPECT_TRUE(says(error([&] {
                     quantize(lstm, normal({4, 5, 3}, 1));
                   }),
                   {"no layer that can be int8", "LSTM"}));
  Model both = Sequential({Input({5, 3}), LSTM(4, {.name = "lstm"}), Dense(2)});
  EXPECT_TRUE(says(error([&] {
                     quantize(both, normal({4, 5, 3}, 1), {.layers = {"lstm"}});
                   }),
                   {"\"lstm\" cannot be int8"}));
  Tensor kernel = model.get_layer("second").get_weights()[0].clone();
  kernel.data_mut<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  model.get_layer("second").set_weights({kernel});
  EXPECT_THROW(quantize(model, x), ValueError);
}

TEST_F(Quantization, DoesNotTrain) {
  Quantized q = quantize(small_cnn(), normal({8, 12, 12, 3}, 1));
  q.model.compile({.loss = "sparse_categorical_crossentropy"});
  EXPECT_THROW(
      q.model.fit(normal({8, 12, 12, 3}, 1), Tensor::zeros({8}, DType::int32), {.verbose = 0}),
      Error);
}

}  // namespace
}  // namespace stoker
