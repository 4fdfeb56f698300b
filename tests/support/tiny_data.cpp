#include "support/tiny_data.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <stoker/image.h>
#include <stoker/random.h>

namespace stoker::test {

namespace {

std::string idx_bytes(const std::vector<uint32_t>& shape, const std::string& values) {
  std::string bytes = {0, 0, 8, char(shape.size())};
  for (uint32_t size : shape)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += char(size >> shift & 0xff);
  return bytes + values;
}

std::string bar(int64_t label, int64_t side, int64_t channels, Rng& rng) {
  std::string pixels(size_t(side * side * channels), 0);
  int64_t row_of_bar = 1 + 2 * label;
  for (int64_t row = 0; row < side; ++row)
    for (int64_t i = 0; i < side * channels; ++i)
      pixels[size_t(row * side * channels + i)] =
          char(row == row_of_bar % side ? 220 + rng.integer(0, 30) : rng.integer(0, 40));
  return pixels;
}

void write_idx_pair(const TempDir& folder, const std::string& prefix, int64_t count,
                    const TinyPictures& tiny, uint64_t seed) {
  Rng rng(seed);
  std::string pictures, labels;
  for (int64_t i = 0; i < count; ++i) {
    pictures += bar(i % tiny.classes, tiny.side, 1, rng);
    labels += char(i % tiny.classes);
  }
  auto side = uint32_t(tiny.side);
  folder.write(prefix + "-images-idx3-ubyte", idx_bytes({uint32_t(count), side, side}, pictures));
  folder.write(prefix + "-labels-idx1-ubyte", idx_bytes({uint32_t(count)}, labels));
}

}  // namespace

void write_idx_folder(const TempDir& folder, const std::string& name, const TinyPictures& tiny) {
  write_idx_pair(folder, name + "/train", tiny.count, tiny, 1);
  write_idx_pair(folder, name + "/t10k", tiny.count / 4, tiny, 2);
}

void write_image_folder(const TempDir& folder, const std::string& name, const TinyPictures& tiny) {
  Rng rng(3);
  image::Op encode = image::encode_jpeg();
  for (int64_t i = 0; i < tiny.count; ++i) {
    std::string pixels = bar(i % tiny.classes, tiny.side, 3, rng);
    Tensor picture(DType::uint8, {tiny.side, tiny.side, 3});
    std::copy(pixels.begin(), pixels.end(), static_cast<char*>(picture.raw_mut()));
    folder.write(fmt::format("{}/class_{}/{:02}.jpg", name, i % tiny.classes, i / tiny.classes),
                 *encode(picture).data<std::string>());
  }
}

}  // namespace stoker::test
