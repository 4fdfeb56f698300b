#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/printable.h"
#include "jobs/test_data.h"
#include "jobs/use_model.h"

namespace stoker::jobs {

namespace {

// Counts what an evaluation has looked at.
struct SampleCount : Callback {
  int64_t steps = 0;
  void on_test_batch_end(int64_t, const Logs&) override { ++steps; }
};

}  // namespace

nlohmann::json evaluate(const TrainedModel& trained, const Job& job, std::ostream* out) {
  TestData test = open_test_data(trained, job);
  SampleCount count;
  double begin = double(steady_clock().now()) * 1e-9;
  Logs logs = trained.model.evaluate(test.batches(), {.callbacks = {count}});
  double seconds = double(steady_clock().now()) * 1e-9 - begin;
  data::Cardinality known = test.examples().elements.cardinality();
  int64_t samples = known.count.value_or(count.steps * test.job.batch.size);
  nlohmann::json result{{"model", trained.path},
                        {"data", job.data},
                        {"on", test.data.validation ? "validation" : "all"},
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
