// Small grey images of ten classes, drawn: the digits of a seven-segment display, each with its own
// place, size, slant, thickness and noise. Image i of a seed is always the same.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include <stoker/stoker.h>

struct Digits {
  stoker::Tensor x;  // float32 [count, 28, 28, 1] in [0, 1]
  stoker::Tensor y;  // int32 [count]
};

namespace digits_detail {

constexpr int kSide = 28;

struct Segment {
  float x0, y0, x1, y1;  // in a box of one by one
};
// a, b, c, d, e, f, g: clockwise from the top, the middle last.
constexpr std::array<Segment, 7> kSegments = {{{0, 0, 1, 0},
                                               {1, 0, 1, .5F},
                                               {1, .5F, 1, 1},
                                               {0, 1, 1, 1},
                                               {0, .5F, 0, 1},
                                               {0, 0, 0, .5F},
                                               {0, .5F, 1, .5F}}};
constexpr std::array<int, 10> kLit = {0x3f, 0x06, 0x5b, 0x4f, 0x66, 0x6d, 0x7d, 0x07, 0x7f, 0x6f};

inline float distance(float x, float y, const Segment& s) {
  float dx = s.x1 - s.x0, dy = s.y1 - s.y0;
  float t = std::clamp(((x - s.x0) * dx + (y - s.y0) * dy) / (dx * dx + dy * dy), 0.0F, 1.0F);
  return std::hypot(x - s.x0 - t * dx, y - s.y0 - t * dy);
}

inline void draw(float* pixels, int digit, stoker::Rng& rng) {
  float width = rng.uniform(7, 12), height = rng.uniform(13, 19), slant = rng.uniform(-.25F, .25F);
  float left = rng.uniform(4, 24 - width), top = rng.uniform(4, 24 - height);
  float thickness = rng.uniform(.8F, 1.8F), light = rng.uniform(.6F, 1),
        noise = rng.uniform(.02F, .15F);
  auto place = [&](float x, float y) {
    return std::array{left + x * width + slant * (.5F - y) * height, top + y * height};
  };
  std::fill_n(pixels, kSide * kSide, 0.0F);
  for (size_t i = 0; i < kSegments.size(); ++i) {
    if (!(kLit[size_t(digit)] >> i & 1)) continue;
    auto [x0, y0] = place(kSegments[i].x0, kSegments[i].y0);
    auto [x1, y1] = place(kSegments[i].x1, kSegments[i].y1);
    for (int row = 0; row < kSide; ++row)
      for (int column = 0; column < kSide; ++column) {
        float ink = std::clamp(
            thickness + .5F - distance(float(column), float(row), {x0, y0, x1, y1}), 0.0F, 1.0F);
        float& pixel = pixels[row * kSide + column];
        pixel = std::max(pixel, light * ink);
      }
  }
  for (int i = 0; i < kSide * kSide; ++i)
    pixels[i] = std::clamp(pixels[i] + noise * rng.normal(), 0.0F, 1.0F);
}

}  // namespace digits_detail

// Image `index` of a seed, [28, 28, 1], and its label.
inline std::pair<stoker::Tensor, int32_t> draw_digit(int64_t index, uint64_t seed = 1) {
  stoker::Rng rng(seed, uint64_t(index));
  stoker::Tensor image(stoker::DType::float32, {digits_detail::kSide, digits_detail::kSide, 1});
  auto label = int32_t(rng.integer(0, 10));
  digits_detail::draw(image.data_mut<float>(), label, rng);
  return {image, label};
}

inline Digits draw_digits(int64_t count, uint64_t seed) {
  using namespace digits_detail;
  Digits digits{{stoker::DType::float32, {count, kSide, kSide, 1}},
                {stoker::DType::int32, {count}}};
  float* pixels = digits.x.data_mut<float>();
  auto* labels = digits.y.data_mut<int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    stoker::Rng rng(seed, uint64_t(i));
    labels[i] = int32_t(rng.integer(0, 10));
    draw(pixels + i * kSide * kSide, labels[i], rng);
  }
  return digits;
}
