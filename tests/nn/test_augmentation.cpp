// Augmentation layers: on every engine the same pictures, the same as steps of a pipeline make;
// nothing in inference.
#include <cmath>

#include <stoker/augmentation_layers.h>
#include <stoker/convolution_layers.h>
#include <stoker/regularization_layers.h>

#include "base/augment_mix.h"
#include "base/augment_stages.h"
#include "nn/running.h"

namespace stoker::test {
namespace {

Tensor pictures(const Shape& shape = {3, 6, 7, 3}) {
  Tensor tensor = random_tensor(shape).clone();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.data_mut<float>()[i] = (tensor.data_mut<float>()[i] + 1) * 127.5F;
  return tensor;
}

std::vector<Layer> augmentations() {
  return {RandomFlip(),
          RandomRotation(0.2),
          RandomRotation(0.2, {.fill_mode = "constant", .fill_value = 9}),
          RandomTranslation(0.3, {0.1, 0.2}, {.fill_mode = "wrap"}),
          RandomZoom(0.3, {.width_factor = 0.2, .fill_mode = "nearest"}),
          RandomShear(0.2, 0.1),
          RandomPerspective({.scale = 0.5}),
          RandomCrop(4, 5),
          RandomBrightness(0.3),
          RandomContrast(0.4),
          RandomHue(0.5),
          RandomSaturation({0.2, 0.9}),
          RandomColorDegeneration(0.7),
          RandomSharpness(0.9),
          RandomInvert(0.5),
          RandomGrayscale(0.5),
          AutoContrast(),
          RandomGaussianBlur({.kernel_size = {3, 5}}),
          RandomErasing({.fill_value = 3}),
          RandomErasing(),
          RandomColorJitter({.brightness_factor = 0.2,
                             .contrast_factor = 0.2,
                             .saturation_factor = Factor(0.3, 0.7),
                             .hue_factor = 0.1}),
          RandomElasticTransform({.scale = {0.5, 1}}),
          MixUp(0.4),
          CutMix(0.8)};
}

TEST(Augmentation, IsTheSameOnEveryEngine) {
  Tensor x = pictures();
  for (const Layer& layer : augmentations()) {
    SCOPED_TRACE(layer.base().kind());
    RunOptions options{.training = true, .seed = 7, .step = 3};
    Tensor expected = run_layer(layer, x, options);
    for (const std::string& device : devices()) {
      options.device = device;
      EXPECT_TRUE(near(run_layer(layer, x, options), expected, 255 * 1e-5)) << device;
    }
  }
}

// Solarization, posterisation and equalisation jump: whole values are far from every jump.
TEST(Augmentation, OfLevelsIsTheSameOnEveryEngine) {
  Tensor x = pictures();
  for (int64_t i = 0; i < x.elements(); ++i)
    x.data_mut<float>()[i] = std::floor(x.data_mut<float>()[i] / 5) * 5 + 2;
  for (const Layer& layer : {Layer(Solarization({.addition_factor = 0.1, .threshold_factor = 0.7})),
                             Layer(RandomPosterization({2, 5})), Layer(Equalization())}) {
    SCOPED_TRACE(layer.base().kind());
    for (const std::string& device : devices())
      EXPECT_TRUE(near(run_layer(layer, x, {.training = true, .device = device}),
                       run_layer(layer, x, {.training = true}), 255 * 1e-5))
          << device;
  }
}

TEST(Augmentation, DoesNothingInInference) {
  Tensor x = pictures();
  for (const Layer& layer : augmentations()) {
    std::string kind = layer.base().kind();
    if (kind == "RandomCrop" || kind == "AutoContrast") continue;
    EXPECT_TRUE(near(run_layer(layer, x), x, 0)) << kind;
  }
}

TEST(Augmentation, DrawsAnewInEveryStepAndForEverySample) {
  Tensor same = Tensor::full({2, 6, 7, 3}, 100);
  Layer layer = RandomBrightness(0.5);
  Tensor first = run_layer(layer, same, {.training = true, .step = 1});
  EXPECT_NE(first.at(0), first.at(6 * 7 * 3));
  EXPECT_NE(first.at(0), run_layer(layer, same, {.training = true, .step = 2}).at(0));
  EXPECT_EQ(first.at(0), run_layer(layer, same, {.training = true, .step = 1}).at(0));
}

// What a step of a pipeline calls, with the key of the sample.
TEST(Augmentation, MakesThePictureThatTheSameKeyGivesAPipeline) {
  Tensor x = pictures({2, 6, 7, 3});
  augment::Sampling reflect;
  std::vector<augment::Stage> stages = {augment::rotation_stage("test", 0.2, reflect)};
  Tensor made = run_layer(RandomRotation(0.2), x, {.training = true, .seed = 5, .step = 2});
  std::vector<float> one(6 * 7 * 3), scratch(256 * 3);
  for (uint64_t sample = 0; sample < 2; ++sample) {
    augment::Picture<float> from = {x.values<float>().data() + sample * one.size(), 6, 7, 3};
    augment::run_sample<float>(stages, {5, 2 * 65536, sample}, from, {6, 7}, one.data(),
                               scratch.data());
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_NEAR(made.at(int64_t(sample * one.size() + i)), one[i], 255 * 1e-5);
  }
}

TEST(RandomElasticTransform, MovesPixelsSmoothlyAndLeavesPlainPicturesAlone) {
  Tensor plain = Tensor::full({2, 40, 30, 1}, 77), ramp = Tensor::zeros({2, 40, 30, 1}).clone();
  for (int64_t i = 0; i < ramp.elements(); ++i) ramp.data_mut<float>()[i] = float(i / 30 % 40) * 5;
  Layer layer =
      RandomElasticTransform({.factor = {1, 1}, .scale = {0.8, 1}, .fill_mode = "nearest"});
  EXPECT_TRUE(near(run_layer(layer, plain, {.training = true}), plain, 1e-3));
  Tensor bent = run_layer(layer, ramp, {.training = true});
  double moved = 0, widest = 0;
  for (int64_t i = 30; i < 40 * 30; ++i) {
    moved += std::abs(bent.at(i) - ramp.at(i));
    widest = std::max(widest, std::abs(bent.at(i) - bent.at(i - 30)));
  }
  EXPECT_GT(moved / (39 * 30), 1);
  EXPECT_LT(widest, 80);  // neighbours stay neighbours
  EXPECT_TRUE(
      near(run_layer(RandomElasticTransform({.factor = 0.0}), ramp, {.training = true}), ramp, 0));
}

// The stages jump, so that engines are compared on what they have in common.
TEST(AugMix, MixesChainsOfEverySampleWithinTheValueRange) {
  Tensor one = pictures({1, 6, 7, 3}), two = Tensor(DType::float32, {2, 6, 7, 3});
  for (int64_t i = 0; i < two.elements(); ++i)
    two.data_mut<float>()[i] = float(one.at(i % one.elements()));
  EXPECT_TRUE(near(run_layer(AugMix(), two), two, 0));
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    Tensor mixed = run_layer(AugMix({.factor = 0.5}), two, {.training = true, .device = device});
    EXPECT_GE(mixed.min(), 0);
    EXPECT_LE(mixed.max(), 255);
    double apart = 0;
    for (int64_t i = 0; i < one.elements(); ++i)
      apart += std::abs(mixed.at(i) - mixed.at(i + one.elements()));
    EXPECT_GT(apart, 1);  // the same picture twice, with draws of its own
  }
}

TEST(Dropout, DrawsOnceForAnAxisOfExtentOneInNoiseShape) {
  Tensor x = Tensor::full({8, 5, 3}, 1);
  for (const std::string& device : devices()) {
    Tensor y = run_layer(Dropout(0.5, {.noise_shape = {-1, 1, 3}}), x,
                         {.training = true, .device = device});
    int64_t dropped = 0;
    for (int64_t sample = 0; sample < 8; ++sample)
      for (int64_t channel = 0; channel < 3; ++channel) {
        dropped += y.at(sample * 15 + channel) == 0;
        for (int64_t step = 1; step < 5; ++step)
          EXPECT_EQ(y.at(sample * 15 + step * 3 + channel), y.at(sample * 15 + channel)) << device;
      }
    EXPECT_GT(dropped, 2);
    EXPECT_LT(dropped, 22);
  }
  std::string error = message_of<ShapeError>([&] {
    run_layer(Dropout(0.5, {.noise_shape = {8, 2, 3}}), x, {.training = true});
  });
  EXPECT_NE(error.find("noise_shape"), std::string::npos) << error;
}

TEST(MixUp, MixesLabelsAsItMixesPictures) {
  Tensor x = floats({0, 1, 2, 3, 4, 5}, {6, 1, 1, 1}), labels = floats({0, 1, 2, 3, 4, 5}, {6, 1});
  for (const std::string& device : devices()) {
    std::vector<Tensor> mixed =
        run({x, labels}, [](Graph&, const Values& in) { return MixUp(0.5).call_all(in); },
            {.training = true, .device = device});
    double sum = 0;
    for (int64_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(mixed[0].at(i), mixed[1].at(i), 1e-5) << device;
      sum += std::abs(mixed[0].at(i) - x.at(i));
    }
    EXPECT_GT(sum, 0) << device;
  }
}

TEST(CutMix, TakesTheBoxShareOfThePartnersLabel) {
  Tensor x = Tensor::zeros({4, 8, 8, 1}).clone(), labels = Tensor::zeros({4, 4}).clone();
  for (int64_t b = 0; b < 4; ++b) {
    labels.data_mut<float>()[b * 5] = 1;
    for (int64_t i = 0; i < 64; ++i) x.data_mut<float>()[b * 64 + i] = float(b);
  }
  std::vector<Tensor> mixed =
      run({x, labels}, [](Graph&, const Values& in) { return CutMix(1.0).call_all(in); },
          {.training = true, .seed = 3});
  for (int64_t b = 0; b < 4; ++b) {
    double total = 0, own = 0;
    for (int64_t c = 0; c < 4; ++c) total += mixed[1].at(b * 4 + c);
    for (int64_t i = 0; i < 64; ++i) own += mixed[0].at(b * 64 + i) == double(b) ? 1.0 / 64 : 0;
    EXPECT_NEAR(total, 1, 1e-5);
    EXPECT_NEAR(mixed[1].at(b * 5), own, 0.25);  // the box is cut at pixels, its share is not
  }
}

// A permutation: every sample is the partner of one.
TEST(MixUp, GivesEverySampleOnePartner) {
  std::vector<int> seen(37, 0);
  for (uint64_t sample = 0; sample < 37; ++sample)
    ++seen[size_t(augment::partner_of({9, 4, sample}, 37))];
  for (int count : seen) EXPECT_EQ(count, 1);
}

TEST(MixUp, DrawsFromTheBetaDistribution) {
  for (float alpha : {0.2F, 1.0F, 4.0F}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 4000;
    for (uint64_t sample = 0; sample < kDraws; ++sample) {
      augment::Draws draws = {{1, 2, sample}};
      double share = augment::beta_draw(draws, alpha);
      sum += share;
      squares += share * share;
    }
    double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    EXPECT_NEAR(mean, 0.5, 0.03) << alpha;
    EXPECT_NEAR(variance, 0.25 / (2 * alpha + 1), 0.02) << alpha;
  }
}

TEST(Resizing, KeepsTheDtypeAndTheRatio) {
  Tensor bytes = Tensor::full({1, 4, 8, 3}, 10, DType::uint8);
  for (const std::string& device : devices()) {
    Tensor small = run_layer(Resizing(2, 2), bytes, {.device = device});
    EXPECT_EQ(small.dtype(), DType::uint8);
    EXPECT_TRUE(near(small, Tensor::full({1, 2, 2, 3}, 10, DType::uint8))) << device;
    Tensor framed = run_layer(Resizing(4, 4, {.pad_to_aspect_ratio = true, .fill_value = 1}),
                              floats(std::vector<float>(8, 5), {1, 2, 4, 1}), {.device = device});
    EXPECT_TRUE(near(framed, {1, 1, 1, 1, 5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 1})) << device;
    Tensor cut = run_layer(Resizing(2, 2, {.crop_to_aspect_ratio = true}),
                           floats({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 4, 1}), {.device = device});
    EXPECT_TRUE(near(cut, {2, 3, 6, 7})) << device;
  }
}

TEST(CenterCrop, TakesTheMiddleAndEnlargesWhatIsTooSmall) {
  Tensor x = floats({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1});
  EXPECT_TRUE(near(run_layer(CenterCrop(1, 1), x), {5}));
  EXPECT_TRUE(near(run_layer(RandomCrop(1, 3), x), {4, 5, 6}));
  EXPECT_EQ(run_layer(CenterCrop(6, 3), x).shape(), Shape({1, 6, 3, 1}));
}

TEST(Augmentation, SaysWhatItExpects) {
  auto message = [](auto make) { return message_of<ValueError>(make); };
  EXPECT_EQ(message([] { RandomRotation(3.0, {.name = "r"}); }),
            "RandomRotation \"r\": factor is 3, expected a number or two numbers in [-1, 1]");
  EXPECT_EQ(message([] { RandomHue(0.1, {.value_range = 255, .name = "h"}); }),
            "RandomHue \"h\": value_range is 255, expected its lowest and its highest number");
  EXPECT_NE(message_of<ShapeError>([] {
              run_layer(RandomHue(0.1), Tensor::zeros({1, 4, 4, 1}), {.training = true});
            }).find("three channels"),
            std::string::npos);
  EXPECT_NE(message_of<ShapeError>([] {
              run({Tensor::zeros({2, 4, 4, 1}), Tensor::zeros({2}, DType::int32)},
                  [](Graph&, const Values& in) { return MixUp().call_all(in); });
            }).find("ops::one_hot"),
            std::string::npos);
}

// --- dropout of maps, and penalties --------------------------------------------------------------

TEST(SpatialDropout, DropsWholeMaps) {
  for (const std::string& device : devices()) {
    Tensor y = run_layer(SpatialDropout2D(0.5), Tensor::full({4, 3, 3, 5}, 1),
                         {.training = true, .device = device});
    int dropped = 0;
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t c = 0; c < 5; ++c) {
        double first = y.at(b * 45 + c);
        EXPECT_TRUE(first == 0 || std::abs(first - 2) < 1e-6);
        dropped += first == 0 ? 1 : 0;
        for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(y.at(b * 45 + i * 5 + c), first);
      }
    EXPECT_GT(dropped, 0);
    EXPECT_LT(dropped, 20);
  }
}

TEST(GaussianNoise, HasItsDeviationAndAGradientOfOne) {
  for (const std::string& device : devices()) {
    RunOptions options{.training = true, .seed = 4, .device = device};
    Tensor x = Tensor::full({100, 40}, 2);
    std::vector<Tensor> made = run(
        {x},
        [](Graph&, const Values& in) {
          Value noisy = GaussianNoise(0.5)(in[0]), times = GaussianDropout(0.2)(in[0]);
          return Values{noisy, times, gradients(ops::sum(noisy), Values{in[0]})[0]};
        },
        options);
    for (size_t which : {0, 1}) {
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < 4000; ++i) sum += made[which].at(i) / 4000;
      for (int64_t i = 0; i < 4000; ++i) squares += std::pow(made[which].at(i) - sum, 2) / 4000;
      EXPECT_NEAR(sum, 2, 0.05) << device;
      EXPECT_NEAR(std::sqrt(squares), which == 0 ? 0.5 : 2 * std::sqrt(0.2 / 0.8), 0.05) << device;
    }
    EXPECT_TRUE(near(made[2], Tensor::full({100, 40}, 1))) << device;
    EXPECT_TRUE(near(run_layer(GaussianNoise(0.5), x, {.device = device}), x, 0)) << device;
  }
}

TEST(AlphaDropout, KeepsMeanAndVariance) {
  Tensor x = random_tensor({200, 100});
  double scale = std::sqrt(3.0);  // to variance 1
  Tensor unit = x.clone();
  for (int64_t i = 0; i < x.elements(); ++i) unit.data_mut<float>()[i] = float(x.at(i) * scale);
  Tensor y = run_layer(AlphaDropout(0.3), unit, {.training = true, .seed = 99});  // not those of x
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < y.elements(); ++i) {
    sum += y.at(i);
    squares += y.at(i) * y.at(i);
  }
  double mean = sum / double(y.elements());
  EXPECT_NEAR(mean, 0, 0.03);
  EXPECT_NEAR(squares / double(y.elements()) - mean * mean, 1, 0.03);
  EXPECT_TRUE(near(run_layer(AlphaDropout(0.3), x), x, 0));
}

}  // namespace
}  // namespace stoker::test
