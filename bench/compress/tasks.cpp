#include "compress/tasks.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <stoker/idx.h>
#include <stoker/random.h>

namespace stoker::bench {

namespace {

constexpr int64_t kSize = 32, kColours = 3, kClasses = 10, kCoarse = 6;
constexpr float kNoise = 0.5F;
// The least share of the own pattern. Below a half the other one is stronger: of the pictures
// (0.5 − kLeast) / (1 − kLeast), 7 %, are lost to every network, however long it trains.
constexpr float kLeast = 0.46F;

using Picture = std::vector<float>;  // [kSize, kSize, kColours]

// Coarse noise, stretched smoothly and around the edges.
Picture pattern(uint64_t seed) {
  Rng rng(seed, 77);
  std::vector<float> coarse(size_t(kCoarse * kCoarse * kColours));
  for (float& each : coarse) each = rng.normal();
  Picture made(size_t(kSize * kSize * kColours));
  for (int64_t row = 0; row < kSize; ++row)
    for (int64_t column = 0; column < kSize; ++column) {
      float y = float(row * kCoarse) / float(kSize), x = float(column * kCoarse) / float(kSize);
      auto top = int64_t(y), left = int64_t(x);
      float down = y - float(top), right = x - float(left);
      for (int64_t colour = 0; colour < kColours; ++colour) {
        auto at = [&](int64_t r, int64_t c) {
          return coarse[size_t(((r % kCoarse) * kCoarse + c % kCoarse) * kColours + colour)];
        };
        made[size_t((row * kSize + column) * kColours + colour)] =
            (1 - down) * ((1 - right) * at(top, left) + right * at(top, left + 1)) +
            down * ((1 - right) * at(top + 1, left) + right * at(top + 1, left + 1));
      }
    }
  return made;
}

void draw(float* out, Rng& rng, const Picture& own, const Picture& other) {
  float share = kLeast + (1 - kLeast) * float(rng.uniform());
  int64_t down = rng.integer(0, 9), right = rng.integer(0, 9);
  for (int64_t row = 0; row < kSize; ++row)
    for (int64_t column = 0; column < kSize; ++column)
      for (int64_t colour = 0; colour < kColours; ++colour) {
        int64_t from = (((row + down) % kSize) * kSize + (column + right) % kSize) * kColours;
        float blend =
            share * own[size_t(from + colour)] + (1 - share) * other[size_t(from + colour)];
        *out++ = blend + kNoise * rng.normal();
      }
}

void fill(Tensor& x, Tensor& y, const std::vector<Picture>& patterns, uint64_t seed) {
  int64_t count = x.shape()[0], pixels = kSize * kSize * kColours;
  for (int64_t i = 0; i < count; ++i) {
    Rng rng(seed, uint64_t(i));
    int64_t label = rng.integer(0, kClasses);
    int64_t other = (label + rng.integer(1, kClasses)) % kClasses;
    y.data_mut<int32_t>()[i] = int32_t(label);
    draw(x.data_mut<float>() + i * pixels, rng, patterns[size_t(label)], patterns[size_t(other)]);
  }
}

}  // namespace

Task blended_patterns(int64_t count, int64_t test_count, uint64_t seed) {
  std::vector<Picture> patterns;
  for (int64_t label = 0; label < kClasses; ++label) patterns.push_back(pattern(uint64_t(label)));
  Shape picture = {kSize, kSize, kColours};
  Task task{.name = "patterns",
            .x = Tensor(DType::float32, picture.prepend(count)),
            .y = Tensor(DType::int32, {count}),
            .test_x = Tensor(DType::float32, picture.prepend(test_count)),
            .test_y = Tensor(DType::int32, {test_count})};
  fill(task.x, task.y, patterns, seed);
  fill(task.test_x, task.test_y, patterns, seed ^ 0x7e57);
  return task;
}

Task mnist(const std::string& folder, int64_t count, int64_t test_count) {
  auto pictures = [&](const char* file, int64_t wanted) {
    Tensor bytes = load_idx(folder + "/" + file);
    int64_t rows = std::min(wanted, bytes.shape()[0]);
    Tensor x = bytes.slice(0, rows).cast(DType::float32).clone();
    for (float& each : std::span(x.data_mut<float>(), size_t(x.elements()))) each /= 255;
    return x.reshape({rows, 28, 28, 1});
  };
  auto labels = [&](const char* file, int64_t rows) {
    return load_idx(folder + "/" + file).slice(0, rows).cast(DType::int32);
  };
  Task task{.name = "mnist",
            .x = pictures("train-images-idx3-ubyte.gz", count),
            .y = {},
            .test_x = pictures("t10k-images-idx3-ubyte.gz", test_count),
            .test_y = {}};
  task.y = labels("train-labels-idx1-ubyte.gz", task.x.shape()[0]);
  task.test_y = labels("t10k-labels-idx1-ubyte.gz", task.test_x.shape()[0]);
  return task;
}

}  // namespace stoker::bench
