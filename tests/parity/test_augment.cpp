// Augmentations for given draws, against Keras: keras_augment.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/augment_pixels.h"
#include "parity/comparison.h"

namespace stoker::augment {
namespace {

using test::Recording;

// The numbers of a case: kind, fill mode, bilinear, fill value, value range, eight more. Rotations,
// zooms and perspectives are set from what is drawn for them.
Drawn drawn_from(const Tensor& numbers, Extent picture) {
  Drawn drawn;
  auto number = [&](int64_t i) { return float(numbers.at(i)); };
  drawn.kind = Kind(int(number(0)));
  drawn.fill = Fill(int(number(1)));
  drawn.bilinear = int32_t(number(2));
  drawn.fill_value = number(3);
  drawn.low = number(4);
  drawn.high = number(5);
  for (int i = 0; i < 8; ++i) drawn.m[i] = number(6 + i);
  if (drawn.kind == Kind::rotation) set_rotation(drawn, drawn.m[0], picture);
  if (drawn.kind == Kind::zoom) set_zoom(drawn, drawn.m[0], drawn.m[1], picture);
  if (drawn.kind == Kind::perspective) {
    float moves[4][2];
    for (int i = 0; i < 8; ++i) moves[i / 2][i % 2] = drawn.m[i];
    set_perspective(drawn, moves, picture);
  }
  return drawn;
}

template <class T>
Tensor changed_picture(const Drawn& drawn, const Tensor& picture) {
  const Shape& shape = picture.shape();
  std::vector<T> from;
  for (float value : picture.values<float>()) from.push_back(T(value));
  std::vector<T> to(from.size()), own(size_t(kMostBins * shape[3]));
  Picture<T> source = {from.data(), int32_t(shape[1]), int32_t(shape[2]), int32_t(shape[3])};
  int per_channel = statistics_per_channel(drawn.kind);
  for (int32_t c = 0; per_channel > 0 && c < source.channels; ++c)
    statistics(drawn, source, c, own.data() + c * per_channel);
  for (int32_t y = 0; y < source.height; ++y)
    for (int32_t x = 0; x < source.width; ++x)
      pixel(drawn, own.data(), source, y, x,
            to.data() + (int64_t(y) * source.width + x) * source.channels);
  return Tensor::from(std::vector<float>(to.begin(), to.end()), shape);
}

TEST(Augmentation, MakesOfAPictureWhatKerasMakesOfIt) {
  Recording recording("augment");
  Tensor picture = test::drawn(recording.seed(), 0, {1, 7, 8, 3}, {.limit = 128, .centre = 128});
  std::vector<std::string> names = recording.names("output/");
  EXPECT_GT(names.size(), 50U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    Drawn drawn = drawn_from(recording.tensor("drawn/" + name), {7, 8});
    test::Expected expected = recording.expected("output/" + name);
    EXPECT_TRUE(agrees(changed_picture<float>(drawn, picture), expected));
    EXPECT_TRUE(agrees(changed_picture<double>(drawn, picture), expected));
  }
}

}  // namespace
}  // namespace stoker::augment
