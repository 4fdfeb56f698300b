// Training with the rounding of int8, and int8 weights alone.
#include <stoker/quantize.h>

#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

class QuantizationAware : public testing::Test {
 protected:
  OnDevice device_{"cpu", 7};
};

Model normed_cnn() {
  return Sequential(
      {Input({8, 8, 3}), Conv2D(8, 3, {.padding = "same", .use_bias = false, .name = "conv"}),
       BatchNormalization({.name = "norm"}), ReLU({.name = "relu"}),
       DepthwiseConv2D(3, {.name = "depth"}), BatchNormalization({.name = "norm_2"}),
       ReLU({.name = "relu_2"}), Flatten({.name = "flat"}), Dense(4, {.name = "head"})});
}

Data patches(int64_t count, uint64_t seed) {
  Data data = blobs(count, 8 * 8 * 3, 4, 5, 1.0F);
  (void)seed;
  return {data.x.reshape({count, 8, 8, 3}), data.y};
}

CompileArgs aware_settings() {
  return {.optimizer = Adam({.learning_rate = 1e-3}),
          .loss = SparseCategoricalCrossentropy({.from_logits = true}),
          .metrics = {"accuracy"}};
}

TEST_F(QuantizationAware, KnowsTheRangesOfAllThatItsInt8ModelStores) {
  Data data = patches(64, 1);
  int64_t channels = data.x.shape()[-1];
  auto conv = [&](const char* activation) {
    return Conv2D(channels, 3, {.padding = "same", .activation = activation});
  };
  // What stays in float beside int8 layers: a sum with the input, a normalised branch, a concatenation.
  std::vector<std::function<Value(const Value&)>> bodies = {
      [&](const Value& x) {
        return Add()({x, BatchNormalization()(conv("linear")(x))});
      },
      [&](const Value& x) {
        return Add()({x, BatchNormalization()(conv("relu")(x))});
      },
      [&](const Value& x) {
        return conv("relu")(Concatenate()({x, conv("relu")(x)}));
      },
      [&](const Value& x) {
        return conv("relu")(MaxPooling2D(2)(Add()({x, conv("relu")(x)})));
      },
      [&](const Value& x) {
        return Add()({LayerNormalization()(x), conv("relu")(x)});
      }};
  for (const auto& body : bodies) {
    Value x = Input(data.x.shape().drop_front());
    Model aware = quantize_aware(Model(x, Dense(4)(GlobalAveragePooling2D()(body(x)))));
    aware.compile(aware_settings());
    aware.fit(data.x, data.y, {.verbose = 0});
    Tensor fake = aware.predict({data.x}), real = quantize(aware).model.predict({data.x});
    double most = 0;
    for (int64_t i = 0; i < fake.elements(); ++i)
      most = std::max(most, std::abs(fake.at(i) - real.at(i)));
    EXPECT_LT(most, 0.1);
  }
}

TEST_F(QuantizationAware, TrainsFoldedLayersAndBecomesTheInt8ModelThatItWas) {
  Data data = patches(256, 1);
  Model model = normed_cnn();
  model.compile(aware_settings());
  model.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  Model aware = quantize_aware(model);
  EXPECT_EQ(aware.get_layer("conv").base().kind(), "QuantizationAware");
  EXPECT_EQ(aware.count_params() - model.count_params(), 3 * 3);  // three ranges: low, high, seen
  expect_near(aware.predict({data.x}), model.predict({data.x}), 0.2);
  aware.compile(aware_settings());
  History history = aware.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  EXPECT_GT(history["accuracy"].back(), 0.9);
  Quantized q = quantize(aware);
  SCOPED_TRACE(q.report.text());
  EXPECT_TRUE(says(q.report.text(), {"conv: Conv2D + BatchNormalization + relu → int8"}));
  Tensor fake = aware.predict({data.x}), real = q.model.predict({data.x});
  double most = 0, largest = 0;
  for (int64_t i = 0; i < fake.elements(); ++i) {
    most = std::max(most, std::abs(fake.at(i) - real.at(i)));
    largest = std::max(largest, std::abs(fake.at(i)));
  }
  EXPECT_LT(most, 0.03 * largest);  // codes that round the other way, here and there
}

TEST_F(QuantizationAware, KeepsItsStateInFiles) {
  Data data = patches(64, 1);
  Model aware = quantize_aware(normed_cnn(), {.weight_bits = 7});
  aware.compile(aware_settings());
  aware.fit(data.x, data.y, {.verbose = 0});
  TempDir dir;
  aware.save(dir / "model");
  Model again = load_model(dir / "model");
  EXPECT_EQ(again.predict({data.x}), aware.predict({data.x}));
  EXPECT_EQ(quantize(again).model.predict({data.x}), quantize(aware).model.predict({data.x}));
}

TEST_F(QuantizationAware, RefusesModelsWithoutRanges) {
  Model model = normed_cnn();
  EXPECT_TRUE(says(error_of<ValueError>([&] { quantize(quantize_aware(model)); }),
                   {"has no range yet", "train"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { quantize(model); }), {"quantize_aware"}));
  EXPECT_THROW(quantize_aware(model, {.weight_bits = 4}), ValueError);
  EXPECT_THROW(quantize_aware(model, {.momentum = 1}), ValueError);
  EXPECT_THROW(quantize_aware(model, {.layers = {"nowhere"}}), ValueError);
}

TEST_F(QuantizationAware, RoundsOnlyWhatWasAskedFor) {
  Data data = patches(64, 1);
  Model aware = quantize_aware(normed_cnn(), {.exclude = {"head"}});
  EXPECT_EQ(aware.get_layer("head").base().kind(), "Dense");
  aware.compile(aware_settings());
  aware.fit(data.x, data.y, {.verbose = 0});
  Quantized q = quantize(aware);
  EXPECT_EQ(q.model.get_layer("head").base().kind(), "Dense");
  EXPECT_TRUE(says(q.report.text(), {"In float: head: it was not trained for int8"}));
}

class WeightOnly : public testing::Test {
 protected:
  OnDevice device_{"cpu", 7};
};

TEST_F(WeightOnly, KeepsLargeTablesAndKernelsInInt8) {
  Model model = Sequential(
      {Input({6}, {.dtype = DType::int32}), Embedding(1000, 80, {.name = "table"}), Flatten(),
       Dense(300, {.activation = "relu", .name = "wide"}), Dense(3, {.name = "head"})});
  Tensor ids(DType::int32, {4, 6});
  for (int64_t i = 0; i < 24; ++i) ids.data_mut<int32_t>()[i] = int32_t(i * 37 % 1000);
  Quantized q = quantize_weights(model);
  SCOPED_TRACE(q.report.text());
  EXPECT_EQ(q.model.get_layer("table").weights()[0].dtype(), DType::int8);
  EXPECT_EQ(q.model.get_layer("wide").weights()[0].dtype(), DType::int8);
  EXPECT_EQ(q.model.get_layer("head").base().kind(), "Dense");
  EXPECT_TRUE(says(q.report.text(), {"table: Embedding → int8 rows", "fewer than"}));
  EXPECT_LT(q.report.weight_bytes_after * 3, q.report.weight_bytes_before);
  expect_near(q.model.predict({ids}), model.predict({ids}), 2e-3);
  TempDir dir;
  q.model.save(dir / "model");
  EXPECT_EQ(load_model(dir / "model").predict({ids}), q.model.predict({ids}));
}

TEST_F(WeightOnly, RefusesWhatCannotBe) {
  Model model = Sequential(
      {Input({6, 6, 1}), Conv2D(3, 3, {.name = "conv"}), Flatten(), Dense(3, {.name = "head"})});
  EXPECT_TRUE(says(error_of<ValueError>([&] { quantize_weights(model); }),
                   {"no weights that can be int8", "head"}));
  EXPECT_TRUE(says(error_of<ValueError>([&] { quantize_weights(model, {.layers = {"conv"}}); }),
                   {"\"conv\" cannot be int8"}));
  EXPECT_EQ(quantize_weights(model, {.layers = {"head"}}).report.layers.size(), 1U);
}

}  // namespace
}  // namespace stoker
