#include <algorithm>
#include <ostream>

#include <fmt/ostream.h>
#include <stoker/auto_batch.h>
#include <stoker/flops.h>
#include <stoker/image.h>
#include <stoker/random.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "jobs/inspect_model.h"
#include "jobs/memory_taken.h"
#include "train/model/memory_table.h"

namespace stoker::jobs {

namespace {

constexpr int kWarmUp = 3;

double quantile(std::vector<double> sorted, double share) {
  return sorted[size_t(share * double(sorted.size() - 1) + 0.5)];
}

}  // namespace

Batch made_up_pictures(const NetworkInput& input, int64_t batch) {
  Rng rng(1);
  Tensor pictures(DType::uint8, input.picture.shape.prepend(batch));
  for (int64_t i = 0; i < pictures.elements(); ++i)
    pictures.data_mut<uint8_t>()[i] = uint8_t(rng.integer(0, 256));
  bool bytes = input.picture.dtype == DType::uint8;
  Tensor inputs = bytes ? pictures : image::rescale(1.0 / 255)(pictures);
  const auto& [count, classes] = input.outputs;
  if (!classes) return {inputs, Tensor::zeros({batch, count})};
  Tensor labels(DType::int64, {batch});
  for (int64_t i = 0; i < batch; ++i) labels.data_mut<int64_t>()[i] = rng.integer(0, count);
  return {inputs, labels};
}

nlohmann::json bench_step(const Job& job, int64_t steps, std::ostream* out) {
  if (steps < 1) throw ValueError(fmt::format("steps: expected 1 or more, got {}", steps));
  int64_t before = anonymous_memory();
  auto [model, input] = compiled_model(job);
  int64_t size = job.batch.size > 0 ? job.batch.size : auto_batch_size(model);
  Batch batch = made_up_pictures(input, size);
  for (int step = 0; step < kWarmUp; ++step) (void)model.train_on_batch(batch)["loss"];
  std::vector<double> ms;
  ms.reserve(size_t(steps));
  for (int64_t step = 0; step < steps; ++step) {
    int64_t begin = steady_clock().now();
    (void)model.train_on_batch(batch)["loss"];  // reading it waits for the device
    ms.push_back(double(steady_clock().now() - begin) * 1e-6);
  }
  std::sort(ms.begin(), ms.end());
  double median = quantile(ms, 0.5);
  int64_t taken = memory_taken(model, before);
  std::optional<MemoryUse> plan = model.memory_plan(size);
  nlohmann::json result{{"model", job.model},
                        {"input", to_string(input.picture)},
                        {"batch", size},
                        {"steps", steps},
                        {"ms_per_step", median},
                        {"ms_p10", quantile(ms, 0.1)},
                        {"ms_p90", quantile(ms, 0.9)},
                        {"samples_per_second", 1e3 * double(size) / median},
                        {"flops_per_sample", count_flops(model)},
                        {"predicted_memory_bytes", plan ? plan->total : 0},
                        {"peak_memory_bytes", taken},
                        {"run_plan", nlohmann::json::parse(stoker::to_json(model.run_plan()))}};
  if (out != nullptr)
    fmt::print(
        *out,
        "{} on {}, batch {}\nstep    {:.2f} ms ({:.2f} to {:.2f}), {:.0f} samples/s\nmemory  "
        "{} planned, {} taken\n",
        job.model, to_string(input.picture), size, median, quantile(ms, 0.1), quantile(ms, 0.9),
        1e3 * double(size) / median, human_bytes(plan ? double(plan->total) : 0),
        human_bytes(double(taken)));
  return result;
}

}  // namespace stoker::jobs
