// Bounding boxes beside tests/parity: masks, labels, refusals. Values are Keras's there.
#include <stoker/bounding_boxes.h>
#include <stoker/function.h>

#include <gtest/gtest.h>

#include "nn/layer_factory.h"

namespace stoker {
namespace {

namespace boxes = utils::bounding_boxes;

Tensor two_boxes() { return Tensor::from<float>({0, 0, 2, 2, 1, 1, 3, 3}, {2, 4}); }

TEST(BoundingBoxes, OfPaddingHaveTheMasksValue) {
  Tensor with_padding = Tensor::from<float>({0, 0, 2, 2, -1, -1, -1, -1}, {2, 4});
  Tensor iou = compute([&] {
    return boxes::compute_iou(Value(two_boxes()), Value(with_padding), "xyxy",
                              {.use_masking = true});
  });
  EXPECT_NEAR(iou.at(0), 1, 1e-6);
  EXPECT_EQ(iou.at(1), -1);
  EXPECT_NEAR(iou.at(2), 1.0 / 7, 1e-6);
  EXPECT_EQ(iou.at(3), -1);
}

TEST(BoundingBoxes, OutsideOfThePictureLoseTheirLabels) {
  Tensor outside = Tensor::from<float>({5, 5, 9, 9, 1, 1, 3, 3}, {2, 4});
  Tensor labels = Tensor::from<int32_t>({4, 7}, {2});
  Tensor kept = compute([&] {
    return boxes::clip_to_image_size({Value(outside), Value(labels)}, boxes::ImageSize{4, 4})
        .labels;
  });
  EXPECT_EQ(kept, Tensor::from<int32_t>({-1, 7}, {2}));
}

TEST(BoundingBoxes, OfALayerAreMadeAgainFromItsConfiguration) {
  MaxNumBoundingBoxes layer(3, {.fill_value = -7});
  Attrs config = full_config(layer.base());
  Layer again = layer_from_config("MaxNumBoundingBoxes", "again", config);
  EXPECT_EQ(to_string(full_config(again.base())), to_string(config));
  Tensor boxes = Tensor::zeros({1, 2, 4}), labels = Tensor::from<int32_t>({4, 5}, {1, 2});
  Tensor filled = compute([&] { return again.call_all({Value(boxes), Value(labels)})[1]; });
  EXPECT_EQ(filled, Tensor::from<int32_t>({4, 5, -7}, {1, 3}));
}

TEST(BoundingBoxes, SayWhatIsWrong) {
  auto convert = [](const char* from, const char* to, const Tensor& of) {
    compute([&] { return boxes::convert_format(Value(of), from, to); });
  };
  EXPECT_THROW(convert("xyxy", "corners", two_boxes()), ValueError);
  EXPECT_THROW(convert("xyxy", "rel_xyxy", two_boxes()), ValueError) << "no size";
  EXPECT_THROW(convert("xyxy", "xywh", Tensor::zeros({2, 3})), ShapeError);
  EXPECT_THROW(compute([&] {
                 return boxes::encode_box_to_deltas(Value(two_boxes()), Value(two_boxes()), "xyxy",
                                                    "xyxy", {.variance = {1, 2}});
               }),
               ValueError);
  EXPECT_THROW(MaxNumBoundingBoxes(0), ValueError);
}

}  // namespace
}  // namespace stoker
