// Decoding, random-resized-crop 224 and flip, as a pipeline.
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <stoker/dataset.h>

#include "base/cores.h"
#include "common/photos.h"
#include "common/timing.h"
#include "pipeline/rows.h"

namespace stoker::bench {

using namespace data;

namespace {

image::Op augmentation() {
  return image::decode_jpeg() | image::random_resized_crop(224) | image::random_flip_left_right();
}

int64_t count_images(Iterator& iterator, int64_t batches) {
  int64_t images = 0;
  for (int64_t i = 0; i < batches; ++i) {
    const Batch* batch = iterator.next();
    if (batch == nullptr) batch = iterator.next();
    images += (*batch)[0].shape()[0];
  }
  return images;
}

}  // namespace

void measure_images(const std::string& photos, const Wanted& wanted, Report& report) {
  std::string name = "decode + random-resized-crop 224 + flip";
  if (!wanted(name)) return;
  std::vector<std::string> encoded;
  for (const Tensor& photo : photos.empty() ? generate_photos(40) : read_photos(photos))
    encoded.push_back(*photo.data<std::string>());
  auto count = int64_t(encoded.size());
  Dataset source = from_slices(Tensor::from(encoded, {count}));
  std::filesystem::path saved =
      std::filesystem::temp_directory_path() / fmt::format("stoker-prepared-{}", getpid());
  source.map(image::add_restart_markers()).save(saved.string());
  int cores = available_cores();

  auto pipeline = [&](const Dataset& from, int64_t workers) {
    return from.shuffle().map(augmentation(), {.parallel = workers}).batch(64).prefetch(4);
  };
  struct Case {
    std::string name;
    Dataset dataset;
    Samples samples;  // seconds per image
  };
  std::vector<Case> cases;
  auto add = [&](const std::string& title, const Dataset& dataset) {
    cases.push_back({title, dataset, {}});
  };
  add("one core", pipeline(source, 1));
  add(fmt::format("{} cores", cores), pipeline(source, cores));
  add("one core, from shards with restart markers", pipeline(load(saved.string()), 1));
  // In turns, and each time from the beginning: workers that run ahead would run on into the next
  // one's turn.
  for (int round = 0; round < int(7 * wanted.scale); ++round)
    for (Case& one : cases) {
      Iterator iterator = one.dataset.iterate({.epochs = 0});
      count_images(iterator, 2);
      double begin = now();
      int64_t images = count_images(iterator, 10);
      one.samples.add((now() - begin) / double(images));
    }
  std::vector<double> rates;
  rates.reserve(cases.size());
  for (const Case& one : cases) rates.push_back(1 / one.samples.median());
  std::string of = photos.empty() ? "generated pictures" : "photographs";
  for (size_t i = 0; i < cases.size(); ++i)
    report.add({.name = fmt::format("{}, {}", name, cases[i].name),
                .value = rates[i],
                .unit = "images/s",
                .note = fmt::format("{} {}; an image in {}", count, of, cases[i].samples.text())});
  report.add({.name = fmt::format("{}, {} cores against linear", name, cores),
              .value = 100 * rates[1] / (rates[0] * cores),
              .unit = "%",
              .bar = 90,
              .limit = 100});
  cases.clear();  // before the files they read
  std::filesystem::remove_all(saved);
}

}  // namespace stoker::bench
