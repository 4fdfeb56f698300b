#include <time.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <ostream>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "distribute/mpi/mpi_transport.h"
#include "jobs/inspect.h"
#include "jobs/inspect_model.h"
#include "jobs/scaling_model.h"
#include "jobs/strategy_of.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"
#include "train/step/replica_sums.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

constexpr int kWarmUpSteps = 3;
constexpr int kBlocks =
    4;  // with and without sums in turns: other work on the machine slows both down

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Trial {
  Model model;
  Batch batch;
  Distribution* distribution;
  std::vector<int64_t> buckets;  // bytes, in the order in which they are summed
};

// The backward pass makes the gradients of the last layers first.
std::vector<int64_t> buckets_of(const std::vector<Variable>& trainable) {
  std::vector<int64_t> bytes;
  for (auto variable = trainable.rbegin(); variable != trainable.rend(); ++variable)
    bytes.push_back(variable->shape().elements() * int64_t(sizeof(float)));
  std::vector<int64_t> buckets;
  size_t first = 0;
  for (size_t end : bucket_ends(bytes, CommunicationOptions().bucket_bytes)) {
    buckets.push_back(std::accumulate(bytes.begin() + std::ptrdiff_t(first),
                                      bytes.begin() + std::ptrdiff_t(end), int64_t(0)));
    first = end;
  }
  return buckets;
}

SumLoad load_of(const std::vector<int64_t>& buckets) {
  return {.bytes = double(std::accumulate(buckets.begin(), buckets.end(), int64_t(0))),
          .calls = int64_t(buckets.size()),
          .last_bytes = buckets.empty() ? 0 : double(buckets.back())};
}

Trial begin_trial(const Job& job) {
  auto [model, input] = compiled_model(job);
  Trainer& trainer = trainer_of(ModelAccess::base(model));
  Batch batch = made_up_pictures(input, job.batch.size > 0 ? job.batch.size : 32);
  return {model, std::move(batch), trainer.distribution.get(),
          buckets_of(trainer.compiled->trainable)};
}

// Medians of steps; seconds.
struct StepTime {
  double wall = 0;
  double cpu = 0;  // of all threads of this process
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

StepTime steps_of(const Trial& trial, int64_t steps) {
  std::vector<double> wall, cpu;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t begin = steady_clock().now();
    double cpu_begin = cpu_seconds();
    (void)trial.model.train_on_batch(trial.batch)["loss"];
    wall.push_back(double(steady_clock().now() - begin) * 1e-9);
    cpu.push_back(cpu_seconds() - cpu_begin);
  }
  return {median(std::move(wall)), median(std::move(cpu))};
}

struct Measured : ScalingPoint {
  double cpu = 0, computing_cpu = 0;  // seconds per step
};

Measured measured(const Trial& trial, int64_t ranks, int64_t steps) {
  steps_of(trial, kWarmUpSteps);
  int64_t each = std::max<int64_t>(1, steps / kBlocks);
  std::vector<double> whole, computing, sums, cpu, computing_cpu;
  for (int block = 0; block < kBlocks; ++block) {
    StepTime time = steps_of(trial, each);
    whole.push_back(time.wall);
    cpu.push_back(time.cpu);
    if (ranks == 1) continue;
    {
      std::shared_ptr<void> apart = trial.distribution->without_sums();
      time = steps_of(trial, each);
      computing.push_back(time.wall);
      computing_cpu.push_back(time.cpu);
    }
    sums.push_back(trial.distribution->time_sums(trial.buckets));
  }
  double step = median(whole);
  Measured found;
  found.ranks = ranks;
  found.step = step;
  found.computing = ranks == 1 ? step : median(computing);
  found.sums = ranks == 1 ? 0 : median(sums);
  found.cpu = median(cpu);
  found.computing_cpu = ranks == 1 ? found.cpu : median(computing_cpu);
  return found;
}

json to_json(const Measured& point, int64_t batch) {
  double visible = std::max(point.step - point.computing, 0.0);
  return {{"ranks", point.ranks},
          {"ms_per_step", 1e3 * point.step},
          {"computing_ms", 1e3 * point.computing},
          {"sums_ms", 1e3 * point.sums},
          {"cpu_ms_per_step", 1e3 * point.cpu},
          {"computing_cpu_ms", 1e3 * point.computing_cpu},
          {"samples_per_second", double(batch) / point.step},
          {"communication_share", visible / point.step},
          {"overlap", point.sums > 0 ? std::clamp(1 - visible / point.sums, 0.0, 1.0) : 1.0}};
}

// 1, 2, 4, … of the job's devices, and all of them.
std::vector<Job> jobs_of(const Job& job) {
  if (distribute::found_launch().processes > 1) return {job};
  std::vector<std::string> all = devices_of(job.devices.empty() ? "2" : job.devices);
  if (all.empty()) all = MirroredStrategy().devices();
  std::vector<Job> jobs;
  for (size_t count = 1;; count = std::min(2 * count, all.size())) {
    Job one = job;
    one.devices.clear();
    for (size_t i = 0; i < count; ++i) one.devices += (i == 0 ? "" : ",") + all[i];
    if (count == 1) one.devices += ",";  // a list of one name
    jobs.push_back(std::move(one));
    if (count == all.size()) return jobs;
  }
}

}  // namespace

json bench_scaling(const Job& job, int64_t steps, std::ostream* out) {
  if (steps < kBlocks)
    throw ValueError(fmt::format("steps: expected {} or more, got {}", kBlocks, steps));
  std::vector<ScalingPoint> points;
  json rows = json::array();
  std::optional<SumLoad> load;
  int64_t batch = 0;
  if (out != nullptr)
    fmt::print(*out, "ranks  step ms  computing ms  sums ms  shown  overlap  samples/s\n");
  for (const Job& one : jobs_of(job)) {
    std::unique_ptr<Strategy> strategy = strategy_of(one);
    auto scope = strategy->scope();
    Trial trial = begin_trial(one);
    batch = trial.batch[0].shape()[0];
    load = load_of(trial.buckets);
    Measured found = measured(trial, strategy->num_replicas_in_sync(), steps);
    points.push_back(found);
    rows.push_back(to_json(found, batch));
    const json& row = rows.back();
    if (out != nullptr)
      fmt::print(*out, "{:5}  {:7.2f}  {:12.2f}  {:7.2f}  {:4.0f} %  {:5.0f} %  {:9.0f}\n",
                 row["ranks"].get<int64_t>(), row["ms_per_step"].get<double>(),
                 row["computing_ms"].get<double>(), row["sums_ms"].get<double>(),
                 100 * row["communication_share"].get<double>(), 100 * row["overlap"].get<double>(),
                 row["samples_per_second"].get<double>());
  }
  json result = rows.back();
  result["model"] = job.model;
  result["batch"] = batch;
  result["gradient_bytes"] = load->bytes;
  result["points"] = rows;
  if (points.back().ranks < 2) return result;
  StepModel model = fit_step_model(points, *load);
  constexpr int64_t kPredicted[] = {2, 4, 8, 16, 32, 64};
  result["step_model"] = to_json(model, kPredicted);
  if (out == nullptr) return result;
  fmt::print(*out,
             "link    {:.2f} GB/s, {:.0f} µs per message; sums run beside {:.0f} % of the backward "
             "pass, and "
             "{:.0f} % of them shows in any case\n",
             model.link.bandwidth * 1e-9, 1e6 * model.link.latency, 100 * model.overlap,
             100 * model.shown);
  for (int64_t ranks : kPredicted)
    fmt::print(
        *out,
        "predicted, {:2} ranks with as many rows each: {:.2f} ms, {:.0f} % of linear; limit: {}\n",
        ranks, 1e3 * model.step(ranks), 100 * model.efficiency(ranks), what_limits(model, ranks));
  return result;
}

}  // namespace stoker::jobs
