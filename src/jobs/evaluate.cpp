#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/printable.h"
#include "jobs/data_spec.h"
#include "jobs/use_model.h"

namespace stoker::jobs {

namespace {

// Counts what an evaluation has looked at.
struct SampleCount : Callback {
  int64_t steps = 0;
  void on_test_batch_end(int64_t, const Logs&) override { ++steps; }
};

}  // namespace

nlohmann::json evaluate(const TrainedModel& trained, Job job, std::ostream* out) {
  TensorSpec picture = input_of(trained);
  if (picture.shape.rank() == 3) job.image_size = ImageSize{picture.shape[0], picture.shape[1]};
  if (!job.classes) job.classes = trained.model.outputs()[0].shape()[-1];
  if (job.batch.size == 0) job.batch.size = 64;
  JobData data = open_data(job, trained.class_names);
  if (data.picture.shape != picture.shape)
    throw ShapeError(fmt::format("{}: the model takes {}, but the data gives {}", trained.path,
                                 to_string(picture.shape), to_string(data.picture.shape)));
  const Examples& examples = data.validation ? *data.validation : data.train;
  SampleCount count;
  double begin = double(steady_clock().now()) * 1e-9;
  Logs logs = trained.model.evaluate(plain_batches(job, data, examples, job.batch.size),
                                     {.callbacks = {count}});
  double seconds = double(steady_clock().now()) * 1e-9 - begin;
  data::Cardinality known = examples.elements.cardinality();
  int64_t samples = known.count.value_or(count.steps * job.batch.size);
  nlohmann::json result{{"model", trained.path},
                        {"data", job.data},
                        {"on", data.validation ? "validation" : "all"},
                        {"samples", samples},
                        {"seconds", seconds},
                        {"samples_per_second", double(samples) / seconds}};
  for (const std::string& name : logs.names()) result[name] = logs[name];
  if (out != nullptr)
    *out << fmt::format("{}\n{} samples in {:.1f} s, {:.0f} samples/s\n",
                        printable(to_string(logs)), samples, seconds, double(samples) / seconds);
  return result;
}

}  // namespace stoker::jobs
