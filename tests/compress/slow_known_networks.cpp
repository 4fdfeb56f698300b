// Channels leave every family of keras.applications: what strip() returns predicts as the pruned
// model does.
#include <stoker/applications.h>
#include <stoker/flops.h>
#include <stoker/prune.h>

#include "compress/stirred.h"
#include "train/helpers.h"

namespace stoker {
namespace {

using namespace test;

void expect_smaller_and_same(const Model& model, const Shape& picture) {
  SCOPED_TRACE(model.name());
  stir(model, 17);
  Tensor x = normal(picture.prepend(2), 3);
  PruneReport report = prune(model, {.kind = PruneKind::channels, .sparsity = 0.4});
  Model smaller = strip(model);
  EXPECT_GT(report.removed, 0);
  EXPECT_LT(count_flops(smaller), 0.97 * count_flops(model));
  Tensor before = model.predict({x}), after = smaller.predict({x});
  if (report.notes.empty())
    expect_near(after, before, 2e-3);
  else
    EXPECT_EQ(after.spec(), before.spec());  // normalised over the channels: said in the notes
}

TEST(KnownNetworks, LoseChannelsAndPredictTheSame) {
  OnDevice device{"cpu", 7};
  using namespace applications;
  ApplicationOptions plain{.input_shape = {75, 75, 3}, .classes = 4};
  for (auto* make : {VGG16, ResNet50, ResNet50V2, DenseNet121, Xception, InceptionV3,
                     InceptionResNetV2, NASNetMobile, EfficientNetB0})
    expect_smaller_and_same(make(plain), {75, 75, 3});
  PreprocessingOptions scaled{.input_shape = {64, 64, 3}, .classes = 4};
  for (auto* make : {EfficientNetV2B0, ConvNeXtTiny})
    expect_smaller_and_same(make(scaled), {64, 64, 3});
  expect_smaller_and_same(MobileNet({.input_shape = {64, 64, 3}, .classes = 4}), {64, 64, 3});
  expect_smaller_and_same(MobileNetV2({.input_shape = {64, 64, 3}, .classes = 4}), {64, 64, 3});
  expect_smaller_and_same(MobileNetV3Large({.input_shape = {64, 64, 3}, .classes = 4}),
                          {64, 64, 3});
}

}  // namespace
}  // namespace stoker
