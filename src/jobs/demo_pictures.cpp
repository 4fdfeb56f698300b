#include "jobs/demo_pictures.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <numbers>

#include <fmt/format.h>
#include <stoker/dataset.h>

#include "base/file.h"

namespace stoker::jobs {

namespace {

struct Point {
  float x, y;
};

float length(Point p) { return std::hypot(p.x, p.y); }
float fraction(float x) { return x - std::floor(x); }

// Whether a point of the square from -1 to 1 is inside the shape.
bool disc(Point p) { return length(p) < 0.8F; }
bool ring(Point p) { return std::abs(length(p) - 0.65F) < 0.2F; }
bool square(Point p) { return std::max(std::abs(p.x), std::abs(p.y)) < 0.7F; }
bool triangle(Point p) { return p.y < 0.6F && 1.7F * std::abs(p.x) - p.y < 0.8F; }
bool cross(Point p) {
  return std::min(std::abs(p.x), std::abs(p.y)) < 0.22F &&
         std::max(std::abs(p.x), std::abs(p.y)) < 0.9F;
}
bool star(Point p) {
  float angle = fraction(std::atan2(p.y, p.x) / (2 * std::numbers::pi_v<float>)*5);
  return length(p) < 0.4F + 1.1F * std::abs(angle - 0.5F);
}
bool moon(Point p) { return length(p) < 0.8F && length({p.x - 0.4F, p.y}) > 0.65F; }
bool stripes(Point p) {
  return std::max(std::abs(p.x), std::abs(p.y)) < 0.85F && fraction(2 * p.x) < 0.5F;
}
bool checkers(Point p) {
  bool odd = (fraction(1.25F * p.x) < 0.5F) != (fraction(1.25F * p.y) < 0.5F);
  return std::max(std::abs(p.x), std::abs(p.y)) < 0.8F && odd;
}
bool dots(Point p) {
  Point cell{fraction(1.5F * p.x) - 0.5F, fraction(1.5F * p.y) - 0.5F};
  return std::max(std::abs(p.x), std::abs(p.y)) < 0.9F && length(cell) < 0.33F;
}

struct Kind {
  const char* name;
  bool (*inside)(Point);
};
constexpr std::array<Kind, 10> kKinds = {{{"checkers", checkers},
                                          {"cross", cross},
                                          {"disc", disc},
                                          {"dots", dots},
                                          {"moon", moon},
                                          {"ring", ring},
                                          {"square", square},
                                          {"star", star},
                                          {"stripes", stripes},
                                          {"triangle", triangle}}};

using Colour = std::array<float, 3>;

// A hue from 0 to 1 at full strength.
Colour hue(float h) {
  Colour colour{};
  for (int channel = 0; channel < 3; ++channel)
    colour[size_t(channel)] =
        0.5F + 0.5F * std::cos(2 * std::numbers::pi_v<float> * (h - float(channel) / 3));
  return colour;
}

// Grey noise of several scales in [0, 1], as skies, walls and roads have: [height, width, 1].
Tensor cloud(int64_t height, int64_t width, Rng& rng) {
  Tensor sum = Tensor::zeros({height, width, 1});
  float* values = sum.data_mut<float>();
  float strength = 0.5F;
  for (int64_t cells = 3; cells < width; cells *= 4, strength *= 0.6F) {
    Tensor coarse(DType::float32, {cells * height / width + 2, cells + 2, 1});
    for (int64_t i = 0; i < coarse.elements(); ++i)
      coarse.data_mut<float>()[i] = rng.uniform(-strength, strength);
    Tensor fine = image::resize(height, width)(coarse);
    for (int64_t i = 0; i < fine.elements(); ++i) values[i] += fine.data<float>()[i];
  }
  return image::rescale(0.6, 0.45)(sum);
}

bool complete(const std::string& folder, int64_t each) {
  for (const Kind& kind : kKinds) {
    std::string path = folder + "/" + kind.name;
    if (!std::filesystem::is_directory(path)) return false;
    if (int64_t(local_files().list(path).size()) != each) return false;
  }
  return true;
}

// Writes the pictures of one part; class by class, so that file i of a class is always the same.
int64_t write_part(const std::string& folder, int64_t count, const DemoPictures& size,
                   uint64_t seed) {
  auto each = int64_t(count / int64_t(kKinds.size()));
  bool there = complete(folder, each);
  for (const Kind& kind : kKinds) local_files().create_directories(folder + "/" + kind.name);
  image::Op encode = image::encode_jpeg({.quality = 90, .subsampled = true});
  auto write = [=](int64_t index) {
    int64_t label = index / each;
    std::string path =
        fmt::format("{}/{}/{:04}.jpg", folder, kKinds[size_t(label)].name, index % each);
    if (there) return int64_t(local_files().size(path));
    Rng rng(seed, uint64_t(index));
    Tensor bytes = encode(draw_demo_picture(label, size.height, size.width, rng));
    const std::string& text = *bytes.data<std::string>();
    // Not synced: a demo's pictures need not survive a power cut.
    local_files().create(path, FileSystem::Write::replace)->write(as_bytes(text));
    return int64_t(text.size());
  };
  int64_t total = 0;
  for (const Batch& bytes : data::range(each * int64_t(kKinds.size())).map(write))
    total += bytes[0].data<int64_t>()[0];
  return total;
}

}  // namespace

const std::vector<std::string>& demo_classes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(kKinds.size());
    for (const Kind& kind : kKinds) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

Tensor draw_demo_picture(int64_t label, int64_t height, int64_t width, Rng& rng) {
  Tensor grey = cloud(height, width, rng), picture(DType::float32, {height, width, 3});
  float* values = picture.data_mut<float>();
  for (int64_t i = 0; i < picture.elements(); ++i) values[i] = grey.data<float>()[i / 3];
  auto [inside, turn, radius] = std::tuple{kKinds[size_t(label)].inside, rng.uniform(-0.4F, 0.4F),
                                           float(height) * rng.uniform(0.3F, 0.48F)};
  Point centre{rng.uniform(radius, float(width) - radius),
               rng.uniform(radius, float(height) - radius)};
  // Things have colours of their own, more or less.
  Colour colour = hue(fraction(float(label) * 0.1F + rng.uniform(-0.04F, 0.04F)));
  float light = rng.uniform(0.6F, 1), cosine = std::cos(turn), sine = std::sin(turn);
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) {
      float x = (float(column) - centre.x) / radius, y = (float(row) - centre.y) / radius;
      if (std::abs(x) > 1.5F || std::abs(y) > 1.5F) continue;
      if (!inside({cosine * x + sine * y, cosine * y - sine * x})) continue;
      float* pixel = values + 3 * (row * width + column);
      for (size_t channel = 0; channel < 3; ++channel)
        pixel[channel] = 0.2F * pixel[channel] + 0.8F * light * colour[channel];
    }
  return image::convert(DType::uint8)(picture);
}

int64_t write_demo_pictures(const std::string& folder, const DemoPictures& pictures) {
  return write_part(folder + "/train", pictures.train, pictures, 1) +
         write_part(folder + "/val", pictures.val, pictures, 2);
}

}  // namespace stoker::jobs
