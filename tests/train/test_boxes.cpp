// Boxes of objects: overlaps, and non-maximum suppression against a plain loop.
#include <algorithm>
#include <numeric>

#include "train/helpers.h"

namespace stoker {
namespace {

using test::error_of;
using test::says;

class Boxes : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(Boxes);

Tensor random_boxes(const Shape& shape, uint64_t seed) {
  Tensor boxes(DType::float32, shape);
  Rng rng(seed);
  for (int64_t i = 0; i < shape.elements() / 4; ++i) {
    float* box = boxes.data_mut<float>() + 4 * i;
    for (int axis = 0; axis < 2; ++axis) {
      box[axis] = rng.uniform();
      box[axis + 2] = box[axis] + 0.3F * rng.uniform();
    }
  }
  return boxes;
}

double overlap_of(const float* a, const float* b) {
  double both = 1, of_a = 1, of_b = 1;
  for (int axis = 0; axis < 2; ++axis) {
    both *= std::max(0.0F, std::min(a[axis + 2], b[axis + 2]) - std::max(a[axis], b[axis]));
    of_a *= a[axis + 2] - a[axis];
    of_b *= b[axis + 2] - b[axis];
  }
  return both / (of_a + of_b - both);
}

std::vector<int64_t> kept_of(const Tensor& boxes, const Tensor& scores, double overlap,
                             double least) {
  std::vector<int64_t> order(size_t(scores.elements())), kept;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order,
                           [&](int64_t a, int64_t b) { return scores.at(a) > scores.at(b); });
  for (int64_t next : order) {
    auto hides = [&](int64_t other) {
      return overlap_of(boxes.data<float>() + 4 * other, boxes.data<float>() + 4 * next) > overlap;
    };
    if (scores.at(next) > least && std::ranges::none_of(kept, hides)) kept.push_back(next);
  }
  return kept;
}

TEST_P(Boxes, OverlapByIntersectionOverUnion) {
  Tensor a = Tensor::from({0.F, 0.F, 2.F, 2.F, 5.F, 5.F, 5.F, 5.F}, {2, 4});
  Tensor b = Tensor::from({1.F, 1.F, 3.F, 3.F, 0.F, 0.F, 2.F, 1.F, 5.F, 5.F, 5.F, 5.F}, {3, 4});
  Tensor overlaps = compute([&] { return ops::boxes::iou(a, b); });
  EXPECT_EQ(overlaps.shape(), (Shape{2, 3}));
  const std::vector<double> expected = {1.0 / 7, 0.5, 0, 0, 0, 0};  // two empty boxes: 0
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(overlaps.at(int64_t(i)), expected[i], 1e-6);
  Tensor areas = compute([&] { return ops::boxes::area(b); });
  EXPECT_EQ(areas.to_vector<float>(), (std::vector<float>{4, 2, 0}));
}

TEST_P(Boxes, AreKeptWhereNoBetterOneOverlapsThem) {
  Tensor boxes = random_boxes({3, 40, 4}, 1);
  Tensor scores(DType::float32, {3, 40});
  Rng rng(2);
  for (int64_t i = 0; i < scores.elements(); ++i)
    scores.data_mut<float>()[i] = std::round(rng.uniform() * 20) / 20;  // some are equal
  auto suppress = function([](Value of_boxes, Value of_scores) {
    auto kept = ops::boxes::non_max_suppression(
        of_boxes, of_scores,
        {.max_output_size = 40, .iou_threshold = 0.2, .score_threshold = 0.31});
    return Values{kept.indices, kept.count};
  });
  auto results = suppress(boxes, scores);
  Tensor indices = results[0].tensor(), counts = results[1].tensor();
  EXPECT_EQ(indices.shape(), (Shape{3, 40}));
  for (int64_t row = 0; row < 3; ++row) {
    std::vector<int64_t> kept = kept_of(boxes[row], scores[row], 0.2, 0.31);
    EXPECT_EQ(counts.at(row), double(kept.size()));
    kept.resize(40, -1);
    EXPECT_EQ(indices[row].to_vector<int64_t>(), kept);
  }
}

TEST_P(Boxes, AreCutOffAtTheMostThatAreAskedFor) {
  Tensor boxes = random_boxes({6, 4}, 3);
  Tensor scores = Tensor::from({0.1F, std::nanf(""), -0.4F, 0.9F, 0.3F, 0.2F}, {6});
  auto kept = [&](int64_t most) {
    return compute([&] {
             return ops::boxes::non_max_suppression(boxes, scores,
                                                    {.max_output_size = most, .iou_threshold = 1})
                 .indices;
           })
        .to_vector<int64_t>();
  };
  EXPECT_EQ(kept(2), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(kept(7), (std::vector<int64_t>{3, 4, 5, 0, 2, -1, -1}));  // NaN never
}

TEST(BoxesThatDoNotFit, SayWhy) {
  Tensor boxes = Tensor::zeros({6, 4}), scores = Tensor::zeros({6});
  auto error = [](const Tensor& of_boxes, const Tensor& of_scores, int64_t most) {
    return error_of<Error>([&] {
      compute([&] {
        return ops::boxes::non_max_suppression(of_boxes, of_scores, {.max_output_size = most})
            .indices;
      });
    });
  };
  EXPECT_TRUE(says(error(Tensor::zeros({6, 3}), scores, 1), {"[.., 4]", "[6, 3]"}));
  EXPECT_TRUE(says(error(boxes, Tensor::zeros({5}), 1), {"scores [6]", "[5]"}));
  EXPECT_TRUE(says(error(boxes, scores, 0), {"max_output_size is 0"}));
  Value in = Input({6, 4}), of_scores = Input({6});
  EXPECT_TRUE(says(error_of<Error>([&] { ops::boxes::non_max_suppression(in, of_scores); }),
                   {"Layer::call", "layer of your own"}));
}

}  // namespace
}  // namespace stoker
