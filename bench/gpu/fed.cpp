#include "gpu/fed.h"

#include <fmt/format.h>
#include <stoker/dataset.h>
#include <stoker/image.h>

#include "base/cores.h"
#include "common/photos.h"
#include "common/timing.h"
#include "gpu/models.h"

namespace stoker::bench {

namespace {

constexpr int64_t kBatch = 256;
constexpr int kBlocks = 5, kWarmUp = 15, kSteps = 30;

// As a user writes it: files' bytes, shuffled, decoded, cropped, flipped, in batches of uint8.
data::Dataset photographs(const std::string& folder) {
  std::vector<std::string> encoded;
  for (const Tensor& photo : folder.empty() ? generate_photos(40) : read_photos(folder))
    encoded.push_back(*photo.data<std::string>());
  auto count = int64_t(encoded.size());
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back(i % 1000);
  return data::from_slices({Tensor::from(encoded, {count}), Tensor::from(labels, {count})})
      .shuffle()
      .repeat()
      .map(image::decode_jpeg() | image::random_resized_crop(224) | image::random_flip_left_right())
      .batch(kBatch)
      .prefetch(AUTOTUNE);
}

const Batch& next_of(data::Iterator& iterator) {
  const Batch* batch = iterator.next();
  if (batch == nullptr) batch = iterator.next();
  return *batch;
}

// Seconds a step.
template <class Step>
Samples measure_steps(Program& program, Step step) {
  for (int i = 0; i < kWarmUp; ++i) step();
  program.status();
  Samples samples;
  for (int block = 0; block < kBlocks; ++block) {
    double before = now();
    for (int i = 0; i < kSteps; ++i) step();
    program.status();
    samples.add((now() - before) / kSteps);
  }
  return samples;
}

// What the device saw between the steps.
struct Gaps {
  double busy = 0, idle = 0, copy = 0, exposed = 0;
  int64_t steps = 0, dry = 0;

  void take_all(Program& program) {
    DeviceStep step;
    while (program.take_device_step(step)) {
      ++steps;
      busy += double(step.busy) * 1e-6;
      copy += double(step.copy) * 1e-6;
      idle += double(std::max<int64_t>(step.idle, 0)) * 1e-6;
      exposed += double(step.exposed_copy) * 1e-6;
      dry += step.ran_dry ? 1 : 0;
    }
  }
  std::string text() const {
    double count = double(std::max<int64_t>(steps, 1));
    return fmt::format(
        "the device was busy {:.2f} and idle {:.3f} ms per step, copied {:.2f} ms of which {:.3f} "
        "showed, and ran dry in {} of {} steps",
        busy / count, idle / count, copy / count, exposed / count, dry, steps);
  }
};

}  // namespace

void measure_fed(const std::string& photos, const std::string& device, Report& report) {
  CompileOptions options;
  options.status_lag = 2;
  backend(device);  // its page-locked memory is what the pipeline takes
  data::Dataset dataset = photographs(photos);
  data::Iterator iterator = dataset.iterate({.epochs = 0});
  std::vector<Tensor> batch;
  for (const Tensor& tensor : next_of(iterator)) batch.push_back(tensor.clone());

  auto resident_model = GpuModel::resnet50(kBatch, {.batch = batch});
  auto resident = resident_model->compile(options, device);
  Samples base = measure_steps(*resident, [&] { resident->run({}); });

  // The pipeline alone: nobody takes what it makes.
  for (int i = 0; i < kWarmUp; ++i) next_of(iterator);
  double before = now();
  for (int i = 0; i < kSteps; ++i) next_of(iterator);
  double alone = double(kBatch * kSteps) / (now() - before);

  auto model = GpuModel::resnet50(kBatch, {.resident = false, .batch = batch});
  auto program = model->compile(options, device);
  Gaps gaps;
  Samples fed = measure_steps(*program, [&] {
    program->run(next_of(iterator).tensors());
    gaps.take_all(*program);
  });
  double rate = double(kBatch) / fed.median(), own = double(kBatch) / base.median();
  std::string of = photos.empty() ? "generated pictures" : "photographs";
  report.add({.name = fmt::format("ResNet-50 batch 256 bf16, {} resident on the GPU", of),
              .value = own,
              .unit = "img/s",
              .note = base.text()});
  report.add({.name = fmt::format("decoding {} alone, {} cores", of, available_cores()),
              .value = alone,
              .unit = "img/s"});
  report.add({.name = fmt::format("ResNet-50 fed from JPEG by {} cores", available_cores()),
              .value = rate,
              .unit = "img/s",
              .note = fmt::format("{}; {}", fed.text(), gaps.text())});
  report.add({.name = "fed from JPEG / resident",
              .value = rate / own,
              .unit = "",
              .bar = 0.99,
              .limit = 1.0});
}

}  // namespace stoker::bench
