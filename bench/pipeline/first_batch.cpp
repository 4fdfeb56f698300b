// A folder of 100,000 files: how long until the first batch, beyond listing it.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <stoker/dataset.h>

#include "common/photos.h"
#include "common/timing.h"
#include "pipeline/rows.h"

namespace stoker::bench {

using namespace data;
namespace fs = std::filesystem;

void measure_first_batch(const Wanted& wanted, Report& report) {
  std::string name = "time to first batch, 100k files, beyond listing";
  if (!wanted(name)) return;
  constexpr int kClasses = 100, kFiles = 1000;
  fs::path root = fs::temp_directory_path() / fmt::format("stoker-first-batch-{}", getpid());
  Tensor small =
      (image::decode_jpeg() | image::resize(64, 64) | image::encode_jpeg())(generate_photos(1)[0]);
  const std::string& picture = *small.data<std::string>();
  for (int label = 0; label < kClasses; ++label) {
    fs::path folder = root / fmt::format("class{:03}", label);
    fs::create_directories(folder);
    std::ofstream(folder / "0.jpg", std::ios::binary) << picture;
    for (int i = 1; i < kFiles; ++i)
      fs::create_hard_link(folder / "0.jpg", folder / fmt::format("{}.jpg", i));
  }
  Samples listing, beyond;
  for (int round = 0; round < 5; ++round) {
    double begin = now();
    Dataset folder = image_folder(root.string());
    double listed = now();
    Dataset train = folder.shuffle()
                        .map(image::decode_jpeg() | image::random_resized_crop(32))
                        .batch(32)
                        .prefetch(AUTOTUNE);
    Iterator iterator = train.iterate();
    iterator.next();
    double end = now();
    listing.add(listed - begin);
    beyond.add(end - listed);
  }
  fs::remove_all(root);
  report.add({.name = name,
              .value = beyond.median() * 1e3,
              .unit = "ms",
              .better = Better::lower,
              .bar = 50,
              .note = fmt::format("{}; listing {}", beyond.text(), listing.text())});
}

}  // namespace stoker::bench
