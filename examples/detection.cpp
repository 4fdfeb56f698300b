// An object detector: at every place of a grid, is there a square, and where exactly? Focal loss over
// all places, Huber loss only where there is one (sample weights per place), and non-maximum
// suppression of what overlaps.
#include <cstdio>

#include <stoker/stoker.h>

using namespace stoker;

namespace {

constexpr int64_t kSize = 48, kGrid = 12, kCell = kSize / kGrid, kPlaces = kGrid * kGrid;

// Pictures with one or two squares on noise. Per place: 1 near the middle of a square; how far its
// corners are from the middle of the place, in cells.
struct Scenes {
  Tensor pictures, present, corners, weights;
  std::vector<std::vector<std::array<float, 4>>> truth;  // y1, x1, y2, x2

  explicit Scenes(int64_t count, uint64_t seed)
      : pictures(DType::float32, {count, kSize, kSize, 1}),
        present(Tensor::zeros({count, kPlaces, 1})),
        corners(Tensor::zeros({count, kPlaces, 4})),
        weights(Tensor::zeros({count, kPlaces})),
        truth(size_t(count)) {
    Rng rng(seed);
    for (int64_t i = 0; i < pictures.elements(); ++i)
      pictures.data_mut<float>()[i] = 0.2F * rng.normal();
    for (int64_t scene = 0; scene < count; ++scene)
      for (int64_t half = 0; half < rng.integer(1, 3); ++half) draw(scene, half, rng);
  }

 private:
  void draw(int64_t scene, int64_t half, Rng& rng) {  // one in the upper half, one in the lower
    int64_t side = rng.integer(7, 15), top = half * 24 + rng.integer(0, 24 - side);
    int64_t left = rng.integer(0, kSize - side);
    for (int64_t y = top; y < top + side; ++y)
      for (int64_t x = left; x < left + side; ++x)
        pictures.data_mut<float>()[(scene * kSize + y) * kSize + x] += 1;
    std::array<float, 4> box = {float(top), float(left), float(top + side), float(left + side)};
    truth[size_t(scene)].push_back(box);
    int64_t row = (top + side / 2) / kCell, column = (left + side / 2) / kCell;
    for (int64_t y = std::max<int64_t>(row - 1, 0); y <= std::min(row + 1, kGrid - 1); ++y)
      for (int64_t x = std::max<int64_t>(column - 1, 0); x <= std::min(column + 1, kGrid - 1);
           ++x) {
        int64_t place = scene * kPlaces + y * kGrid + x;
        present.data_mut<float>()[place] = weights.data_mut<float>()[place] = 1;
        for (int64_t i = 0; i < 4; ++i)
          corners.data_mut<float>()[place * 4 + i] =
              (box[size_t(i)] - float((i % 2 == 0 ? y : x) * kCell + kCell / 2)) / kCell;
      }
  }
};

Model make_detector() {
  Value picture = Input({kSize, kSize, 1});
  Conv2DOptions like{.padding = "same", .activation = "relu"}, halved = like;
  halved.strides = 2;
  Value x = Conv2D(16, 3, halved)(picture);
  x = Conv2D(32, 3, halved)(x);
  x = Conv2D(32, 3, like)(x);
  x = Conv2D(32, 3, like)(x);
  Value present = Conv2D(1, 3, {.padding = "same", .activation = "sigmoid"})(x);
  Value corners = Conv2D(4, 3, {.padding = "same"})(x);
  return {{picture},
          {Reshape({kPlaces, 1}, {.name = "present"})(present),
           Reshape({kPlaces, 4}, {.name = "corners"})(corners)}};
}

// From predictions to boxes in pixels: [B, kPlaces, 4].
Tensor boxes_of(const Tensor& corners) {
  Tensor boxes = corners.clone();
  for (int64_t i = 0; i < boxes.elements(); ++i) {
    int64_t place = i / 4 % kPlaces, cell = i % 2 == 0 ? place / kGrid : place % kGrid;
    float& edge = boxes.data_mut<float>()[i];
    edge = edge * kCell + float(cell * kCell + kCell / 2);
  }
  return boxes;
}

}  // namespace

int main() {
  set_seed(1);
  Scenes train(256, 1), test(64, 2);
  Model detector = make_detector();
  detector.compile({.optimizer = Adam({.learning_rate = 3e-3}),
                    .loss = {{"present", BinaryFocalCrossentropy()}, {"corners", Huber()}},
                    .loss_weights = {{"present", 5.0}}});
  Tensor everywhere = Tensor::full({256, kPlaces}, 1.0);
  detector.fit(train.pictures, {train.present, train.corners},
               {.epochs = 10, .sample_weight = {everywhere, train.weights}, .verbose = 2});

  std::vector<Tensor> predicted = detector.predict_all(test.pictures);
  Tensor boxes = boxes_of(predicted[1]), scores = predicted[0].reshape({64, kPlaces});
  Tensor kept = compute([&] {
    return ops::boxes::non_max_suppression(
               boxes, scores, {.max_output_size = 10, .iou_threshold = 0.3, .score_threshold = 0.5})
        .indices;
  });
  int found = 0, all = 0, shown = 0;
  for (int64_t scene = 0; scene < 64; ++scene)
    for (size_t square = 0; square < test.truth[size_t(scene)].size(); ++square) {
      Tensor truth =
          Tensor::from(std::span<const float>(test.truth[size_t(scene)][square].data(), 4), {1, 4});
      Tensor overlaps = compute([&] { return ops::boxes::iou(truth, boxes[scene]); });
      bool hit = false;
      for (int64_t i = 0; i < 10; ++i) {
        auto place = int64_t(kept[scene].at(i));
        if (square == 0) shown += int(place >= 0);
        hit |= place >= 0 && overlaps.at(place) > 0.5;
      }
      found += int(hit);
      ++all;
    }
  std::printf("%d of %d squares found, %d boxes shown\n", found, all, shown);
  return found > 0.8 * all && shown < 1.5 * all ? 0 : 1;
}
