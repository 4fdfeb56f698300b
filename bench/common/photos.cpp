#include "common/photos.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <stoker/image.h>

namespace stoker::bench {
namespace {

Tensor bytes_tensor(std::string bytes) {
  Tensor tensor(DType::bytes, {});
  *tensor.data_mut<std::string>() = std::move(bytes);
  return tensor;
}

// Noise of eight octaves, each half as strong as the coarser one.
Tensor cloud(int64_t height, int64_t width, Rng& rng) {
  Tensor sum = Tensor::zeros({height, width, 3});
  float strength = 0.5F;
  for (int64_t cells = 3; cells < width; cells *= 2, strength *= 0.62F) {
    Tensor coarse(DType::float32, {cells * height / width + 2, cells + 2, 3});
    for (int64_t i = 0; i < coarse.elements(); ++i)
      coarse.data_mut<float>()[i] = rng.uniform(-strength, strength);
    Tensor fine = image::resize(height, width)(coarse);
    for (int64_t i = 0; i < fine.elements(); ++i) sum.data_mut<float>()[i] += fine.data<float>()[i];
  }
  return image::rescale(0.7, 0.5)(sum);
}

}  // namespace

std::vector<Tensor> read_photos(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".jpg" || entry.path().extension() == ".jpeg")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Tensor> photos;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    photos.push_back(bytes_tensor(std::string(std::istreambuf_iterator<char>(file), {})));
  }
  return photos;
}

std::vector<Tensor> generate_photos(int count) {
  Rng rng(1);
  auto encode =
      image::convert(DType::uint8) | image::encode_jpeg({.quality = 92, .subsampled = true});
  std::vector<Tensor> photos;
  for (int i = 0; i < count; ++i) photos.push_back(encode(cloud(375, 500, rng)));
  return photos;
}

void write_photos(const std::vector<Tensor>& photos, const std::string& folder) {
  for (size_t i = 0; i < photos.size(); ++i) {
    std::ofstream file(fmt::format("{}/photo_{:03}.jpg", folder, i), std::ios::binary);
    const std::string& bytes = *photos[i].data<std::string>();
    file.write(bytes.data(), std::streamsize(bytes.size()));
  }
}

}  // namespace stoker::bench
