// What the killable trainings train on: the same 120 pictures of 8x8 as slices, as arrays, as JPEG
// files behind a cache of files, as TFRecord, and as two CSV files, one of which is drawn from twice
// as often. Files are written once, by the process that kills.
#pragma once

#include <stoker/stoker.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/image/jpeg_writer.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"

namespace stoker::test {

enum class Source : uint8_t { slices, arrays, pictures, tfrecord, csv };
inline constexpr std::array<const char*, 5> kSourceNames = {"slices", "arrays", "pictures",
                                                            "tfrecord", "csv"};

struct Arrays {
  Tensor x;  // float32 [N, 8, 8, 1]
  Tensor y;  // int32 [N]
};

inline Arrays arrays(int64_t count, uint64_t seed) {
  Arrays all{Tensor(DType::float32, {count, 8, 8, 1}), Tensor(DType::int32, {count})};
  for (int64_t row = 0; row < count; ++row) {
    Rng rng(seed, uint64_t(row));
    auto label = int32_t(rng.integer(0, 3));
    all.y.data_mut<int32_t>()[row] = label;
    for (int64_t pixel = 0; pixel < 64; ++pixel)
      all.x.data_mut<float>()[row * 64 + pixel] =
          rng.normal() + (pixel / 8 == 2 * label ? 1.5F : 0.0F);
  }
  return all;
}

inline void write_picture(const std::string& folder, int64_t row, std::span<const float> pixels) {
  Tensor picture(DType::uint8, {8, 8, 1});
  for (size_t i = 0; i < pixels.size(); ++i)
    picture.data_mut<uint8_t>()[i] = uint8_t(std::clamp(128 + 30 * pixels[i], 0.0F, 255.0F));
  std::string jpeg;
  image::write_jpeg(image::Image(picture), {}, jpeg);
  std::filesystem::create_directories(folder);
  write_file_atomically(folder + "/" + std::to_string(row) + ".jpg", jpeg);
}

// A folder with JPEG files by class, one TFRecord file and two CSV files.
inline void write_files(const std::string& folder) {
  Arrays all = arrays(120, 1);
  auto file = local_files().create(folder + "/images.tfrecord", FileSystem::Write::replace);
  TFRecordWriter records(*file);
  for (int64_t row = 0; row < 120; ++row) {
    std::span<const float> pixels = all.x[row].values<float>();
    int32_t label = all.y.data<int32_t>()[row];
    ExampleWriter example;
    example.add("image", std::vector<float>(pixels.begin(), pixels.end()));
    example.add("label", std::vector<int64_t>{label});
    records.write(as_bytes(example.record()));
    write_picture(folder + "/pictures/" + std::to_string(label), row, pixels);
  }
  records.flush();
  Tensor rows = all.x.reshape({120, 64});
  data::save_csv(folder + "/first.csv", {{"p", rows.slice(0, 50)}, {"label", all.y.slice(0, 50)}});
  data::save_csv(folder + "/second.csv",
                 {{"p", rows.slice(50, 120)}, {"label", all.y.slice(50, 120)}});
}

}  // namespace stoker::test
