#include "pipeline/pictures.h"

#include <cmath>

#include <stoker/image.h>
#include <stoker/random.h>

#include "data/sources/files.h"

namespace stoker::bench {

std::string encoded_picture(int64_t height, int64_t width, uint64_t seed) {
  Rng rng(seed);
  constexpr int kWaves = 12;
  float fx[kWaves], fy[kWaves], phase[kWaves], strength[kWaves][3];
  for (int wave = 0; wave < kWaves; ++wave) {
    float scale = 0.5F * std::pow(1.7F, float(wave) * 0.8F);
    fx[wave] = rng.uniform(-1, 1) * scale;
    fy[wave] = rng.uniform(-1, 1) * scale;
    phase[wave] = rng.uniform(0, 6.28F);
    for (float& channel : strength[wave]) channel = rng.uniform(0, 60) / float(wave + 1);
  }
  Tensor picture(DType::uint8, {height, width, 3});
  auto* out = picture.data_mut<uint8_t>();
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      float value[3] = {128, 128, 128};
      for (int wave = 0; wave < kWaves; ++wave) {
        float at = std::sin(
            6.28F * (fx[wave] * float(x) / float(width) + fy[wave] * float(y) / float(height)) +
            phase[wave]);
        for (int c = 0; c < 3; ++c) value[c] += at * strength[wave][c];
      }
      float noise = rng.uniform(-6, 6);
      for (float v : value) *out++ = uint8_t(std::clamp(v + noise, 0.0F, 255.0F));
    }
  return *image::encode_jpeg({.quality = 90, .subsampled = true})(picture).data<std::string>();
}

std::vector<std::string> pictures(const std::string& folder, size_t least) {
  std::vector<std::string> encoded;
  if (!folder.empty())
    for (const std::string& path : data::glob(folder + "/**/*.jpg", local_files()))
      data::read_whole(path, encoded.emplace_back(), local_files());
  for (size_t i = 0; encoded.size() < least; ++i)
    encoded.push_back(folder.empty() || encoded.empty() ? encoded_picture(375, 500, i)
                                                        : encoded[i % encoded.size()]);
  return encoded;
}

}  // namespace stoker::bench
