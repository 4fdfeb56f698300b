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
    Iterator iterator;
    double images = 0;
  };
  std::vector<Case> cases;
  auto add = [&](const std::string& title, const Dataset& dataset) {
    cases.push_back({title, dataset.iterate({.epochs = 0})});
  };
  add("one core", pipeline(source, 1));
  add(fmt::format("{} cores", cores), pipeline(source, cores));
  add("one core, from shards with restart markers", pipeline(load(saved.string()), 1));
  std::vector<Contender> contenders;
  for (Case& one : cases)
    contenders.push_back(
        {one.name, [&one] { one.images = double(count_images(one.iterator, 2)); }});
  // Workers of one contender run on into the next one's turn: a short burst first empties that.
  std::vector<Samples> samples =
      take_turns(contenders, {.warm_up = 2, .block = 4, .seconds = 16 * wanted.scale});
  std::vector<double> rates;
  for (size_t i = 0; i < cases.size(); ++i) rates.push_back(cases[i].images / samples[i].median());
  std::string of = photos.empty() ? "generated pictures" : "photographs";
  for (size_t i = 0; i < cases.size(); ++i)
    report.add({.name = fmt::format("{}, {}", name, cases[i].name),
                .value = rates[i],
                .unit = "images/s",
                .note = fmt::format("{} {}", count, of)});
  report.add({.name = fmt::format("{}, {} cores against linear", name, cores),
              .value = 100 * rates[1] / (rates[0] * cores),
              .unit = "%",
              .bar = 90,
              .limit = 100});
  cases.clear();
  std::filesystem::remove_all(saved);
}

}  // namespace stoker::bench
