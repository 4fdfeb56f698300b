// Augmentations as steps: the pictures that the layers' formulas make for the key that was drawn.
#include <cmath>

#include <gtest/gtest.h>
#include <stoker/image_augment.h>

#include "base/augment_stages.h"

namespace stoker::test {
namespace {

using namespace image;

Tensor drawn_picture(DType dtype = DType::float32) {
  Tensor tensor = Tensor::zeros({5, 6, 3}, dtype).clone();
  Rng rng(3);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    float value = std::floor(rng.uniform(0, 256));
    if (dtype == DType::uint8)
      tensor.data_mut<uint8_t>()[i] = uint8_t(value);
    else
      tensor.data_mut<float>()[i] = value;
  }
  return tensor;
}

Tensor made_of(const augment::Stage& stage, const Tensor& in, uint64_t key) {
  Tensor out = in.clone();
  std::vector<float> scratch(256 * 3);
  augment::run_sample<float>(std::span(&stage, 1), {.seed = key},
                             {in.values<float>().data(), 5, 6, 3}, {5, 6}, out.data_mut<float>(),
                             scratch.data());
  return out;
}

TEST(AugmentSteps, MakeThePictureOfTheirKey) {
  const Factor bytes = {0, 255};
  struct {
    Op op;
    augment::Stage stage;
  } cases[] = {{random_rotation(0.2), augment::rotation_stage("", 0.2, {})},
               {random_zoom(0.3, 0.1, {.fill_mode = "wrap"}),
                augment::zoom_stage("", 0.3, Factor(0.1), {.fill_mode = "wrap"})},
               {random_hue(0.4), augment::range_stage("", augment::Kind::hue, 0.4, bytes)},
               {random_contrast(0.4, ValueRange()),
                augment::range_stage("", augment::Kind::contrast, 0.4, bytes)},
               {random_erasing(), augment::erasing_stage("", 1.0, {0.02, 0.33}, {}, bytes)},
               {auto_contrast(), augment::auto_contrast_stage("", bytes)}};
  Tensor in = drawn_picture();
  for (const auto& one : cases) {
    Rng drawn(11), same(11);
    Tensor out = one.op(in, drawn), expected = made_of(one.stage, in, same.next64());
    for (int64_t i = 0; i < in.elements(); ++i)
      EXPECT_EQ(out.at(i), expected.at(i)) << one.op.name();
  }
}

TEST(AugmentSteps, RoundBytes) {
  Tensor bytes = drawn_picture(DType::uint8), floats = drawn_picture();
  Op op = random_brightness(0.3, ValueRange());
  Rng first(5), second(5);
  Tensor out = op(bytes, first), exact = op(floats, second);
  EXPECT_EQ(out.dtype(), DType::uint8);
  for (int64_t i = 0; i < out.elements(); ++i) EXPECT_NEAR(out.at(i), exact.at(i), 0.5);
}

TEST(AugmentSteps, FollowOtherStepsAndEachOther) {
  Op op = crop(0, 0, 4, 4) | random_flip() | rand_augment({.num_ops = 3}) | cast(DType::float32);
  EXPECT_TRUE(op.is_random());
  Rng first(7), second(7), third(8);
  Tensor a = op(drawn_picture(DType::uint8), first), b = op(drawn_picture(DType::uint8), second),
         c = op(drawn_picture(DType::uint8), third);
  EXPECT_EQ(a.shape(), Shape({4, 4, 3}));
  double difference = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    EXPECT_EQ(a.at(i), b.at(i));
    difference += std::abs(a.at(i) - c.at(i));
  }
  EXPECT_GT(difference, 0);
}

// Takes what a function writes.
class Kept final : public data::ElementWriter {
 public:
  void* put(size_t index, DType dtype, const Shape& shape) override {
    parts.resize(std::max(parts.size(), index + 1));
    parts[index] = Tensor(dtype, shape);
    return parts[index].raw_mut();
  }
  void copy(size_t, const ConstTensorView&) override {}
  std::vector<Tensor> parts;
};

TEST(AugmentSteps, MixABatchWithItsLabels) {
  Tensor batch = Tensor::zeros({6, 2, 2, 1}, DType::uint8).clone(),
         labels = Tensor::zeros({6, 1}).clone();
  for (int64_t b = 0; b < 6; ++b) {
    labels.data_mut<float>()[b] = float(b);
    for (int64_t i = 0; i < 4; ++i) batch.data_mut<uint8_t>()[b * 4 + i] = uint8_t(b);
  }
  std::vector<ConstTensorView> in = {batch, labels};
  Kept kept;
  Rng rng(3);
  mix_up(0.5)->apply(in, kept, rng);
  double moved = 0;
  for (int64_t b = 0; b < 6; ++b) {
    EXPECT_NEAR(kept.parts[0].at(b * 4), kept.parts[1].at(b), 1e-5);
    moved += std::abs(kept.parts[1].at(b) - double(b));
  }
  EXPECT_GT(moved, 0);
  EXPECT_THROW(mix_up(0), ValueError);
  EXPECT_THROW(cut_mix({0.5, 2}), ValueError);
  EXPECT_THROW(cut_mix()->infer({{DType::uint8, {2, 2, 1}}}), ShapeError);
}

TEST(AugmentSteps, SayWhatTheyExpect) {
  EXPECT_THROW(random_rotation(2.0), ValueError);
  EXPECT_THROW(random_shear(0.1, 0.1, {.fill_mode = "mirror"}), ValueError);
  EXPECT_THROW(random_posterization(9), ValueError);
  EXPECT_THROW(rand_augment({.num_ops = 0}), ValueError);
  EXPECT_THROW(random_hue(0.1).infer({DType::uint8, {4, 4, 1}}), ShapeError);
  EXPECT_THROW(random_flip().infer({DType::uint8, {4, 4}}), ShapeError);
}

}  // namespace
}  // namespace stoker::test
