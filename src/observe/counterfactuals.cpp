#include "observe/counterfactuals.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/clock.h"
#include "observe/layer_times.h"
#include "observe/page_locked.h"
#include "train/step/steps.h"

namespace stoker::doctor {

namespace {

constexpr int kReplaySteps = 20;
constexpr int kMostReplays = 5;         // of so many steps, of which the one in the middle counts
constexpr double kReplaySeconds = 0.5;  // no further one begins after so long
constexpr int kDoubledSteps = 4, kRounds = 3;
constexpr int kReplayWarmUp = 4;    // a GPU captures a step for each place of its inputs
constexpr int64_t kMostAlone = 60;  // batches of the pipeline alone
constexpr double kAloneSeconds = 2;

// Two copies of a batch, one behind the other. Error for a batch of an own step whose tensors are not
// made of the same rows.
std::vector<Tensor> doubled(std::span<const Tensor> batch) {
  std::vector<Tensor> result;
  result.reserve(batch.size());
  for (const Tensor& tensor : batch) {
    Shape shape = tensor.shape();
    if (shape.rank() == 0 || shape[0] != batch[0].shape()[0])
      throw Error("the tensors of a batch have different numbers of rows");
    shape.set(0, 2 * shape[0]);
    Tensor twice(tensor.dtype(), shape);
    for (size_t half = 0; half < 2; ++half)
      std::memcpy(static_cast<char*>(twice.raw_mut()) + half * tensor.bytes(), tensor.raw(),
                  tensor.bytes());
    result.push_back(std::move(twice));
  }
  return result;
}

std::vector<Tensor> copies_in(HostMemory& memory, std::span<const Tensor> batch) {
  std::vector<Tensor> result;
  result.reserve(batch.size());
  for (const Tensor& tensor : batch) result.push_back(copy_into(memory, tensor));
  return result;
}

class Laboratory {
 public:
  Laboratory(const ExperimentPlace& place, Observed& observed)
      : place_(place), observed_(observed), facts_(observed.evidence.what_if) {}

  void run() {
    Program& program = step_program();
    std::optional<DeviceKnobs> knobs = program.device_knobs();
    if (place_.has_time()) {
      facts_.host_batch_ns = replay_ns(place_.batch);
      if (knobs)
        note("host batch, replayed", *facts_.host_batch_ns,
             "a step if input were free: the pipeline paused, the copy kept");
      else
        note("one batch, replayed", *facts_.host_batch_ns,
             "a step if input were free: the pipeline paused, and no copy to make");
    }
    if (knobs && place_.has_time()) on_device(program, *knobs);
    if (place_.has_time()) {
      facts_.pipeline_alone_ns = pipeline_alone_ns();
      note("pipeline alone", *facts_.pipeline_alone_ns, "a batch if nothing took it");
    }
    if (place_.has_time()) twice_the_batch();
  }

 private:
  void note(const char* name, double ns, const char* meaning) {
    observed_.counterfactuals.push_back({name, ns * 1e-9, meaning});
  }

  // Where a device works beside the host: the batch without its copy, and with what is off.
  void on_device(Program& program, const DeviceKnobs& now) {
    auto with = [&](const DeviceKnobs& knobs, std::span<const Tensor> batch) {
      program.set_device_knobs(knobs);
      double ns = replay_ns(batch);
      program.set_device_knobs(now);
      return ns;
    };
    DeviceKnobs knobs = now;
    knobs.reuse_inputs = true;
    facts_.device_batch_ns = with(knobs, place_.batch);
    note("device batch, replayed", *facts_.device_batch_ns, "a step if copies were free too");
    if (!now.capture) {
      knobs = now;
      knobs.capture = true;
      facts_.captured_ns = with(knobs, place_.batch);
      note("captured, replayed", *facts_.captured_ns, "a step that the host starts as one");
      double slower = std::max(*facts_.host_batch_ns, *facts_.captured_ns);
      observed_.evidence.device.launch_share = 1 - *facts_.captured_ns / slower;
    }
    if (!now.pin || !observed_.evidence.pipeline.page_locked) {
      knobs = now;
      knobs.pin = true;
      facts_.pinned_ns = with(knobs, copies_in(host_memory(), place_.batch));
      note("pinned, replayed", *facts_.pinned_ns, "a step whose copies run beside it");
    }
  }

  void twice_the_batch() {
    try {
      std::vector<Tensor> twice = doubled(place_.batch);
      facts_.double_batch_ns = replay_ns(twice);
      note("batch × 2, replayed", *facts_.double_batch_ns, "a step of twice as many samples");
      if (!observed_.layers.empty()) time_ops_of(twice);
    } catch (const OutOfMemoryError&) {
      note("batch × 2, replayed", 0, "it does not fit");
    } catch (const Error& error) {
      note("batch × 2, replayed", 0, error.what());
    }
  }

  // Whether ops come nearer to their limits in a larger batch: both in turns, and of each its best,
  // so that a machine that is slower now than it was before does not decide.
  void time_ops_of(std::span<const Tensor> twice) {
    std::vector<LayerReport> now, larger;
    for (int round = 0; round < kRounds && place_.has_time(); ++round) {
      keep_best(now, time_layers(place_.model, place_.batch, kDoubledSteps));
      keep_best(larger, time_layers(place_.model, twice, kDoubledSteps));
    }
    if (now.empty()) return;
    const Context& context = *place_.model.trainer->context;
    auto held = double(program_of(place_.batch).memory().total);
    rate_layers(now, context, held);
    rate_layers(larger, context, double(program_of(twice).memory().total));
    // The first timing may have met another program on its core.
    keep_best(observed_.layers, now);
    std::ranges::sort(observed_.layers, std::greater<>(), &LayerReport::seconds);
    rate_layers(observed_.layers, context, held);
    DeviceFacts& device = observed_.evidence.device;
    add_layers(device, observed_.layers, machine_peaks(context, held), held);
    add_doubled(device, observed_.layers, now, larger);
  }

  HostMemory& host_memory() const {
    return engine_of(*place_.model.trainer->context).host_memory();
  }

  Program& step_program() { return program_of(place_.batch); }
  Program& program_of(std::span<const Tensor> batch) {
    return *program_for(place_.model, training_kind(*place_.model.trainer), batch, "diagnose")
                .program;
  }

  double replay_ns(std::span<const Tensor> batch) {
    place_.state.restore();
    StepPlace step{.action = "diagnose", .epoch = 0, .step = 0};
    for (int i = 0; i < kReplayWarmUp; ++i) run_training_step(place_.model, batch, step);
    finish_training_steps(place_.model, step);
    std::vector<double> replays;
    double taken = 0;
    while (replays.empty() || (replays.size() < kMostReplays && taken < kReplaySeconds)) {
      int64_t begin = steady_clock().now();
      for (int i = 0; i < kReplaySteps; ++i) run_training_step(place_.model, batch, step);
      finish_training_steps(place_.model, step);
      auto ns = double(steady_clock().now() - begin);
      replays.push_back(ns / kReplaySteps);
      taken += ns * 1e-9;
    }
    auto middle = replays.begin() + std::ptrdiff_t(replays.size() / 2);
    std::ranges::nth_element(replays, middle);
    return *middle;
  }

  // What lies ready is taken first; then batches come as fast as they are made.
  double pipeline_alone_ns() {
    auto begin_walk = [this](int64_t epoch) {
      return place_.batches.begin_walk({.epoch = epoch,
                                        .more_follow = true,
                                        .context = place_.model.trainer->context,
                                        .memory = &host_memory()});
    };
    std::unique_ptr<BatchStream> walk = begin_walk(0);
    PipelineStatistics statistics;
    int64_t ready = walk->measure(statistics) ? int64_t(statistics.depth) + 2 : 2, epoch = 0;
    auto next = [&] {
      if (walk->next() != nullptr) return;
      if (!walk->continues_with(++epoch)) walk = begin_walk(epoch);
      walk->next();
    };
    for (int64_t i = 0; i < ready; ++i) next();
    int64_t begin = steady_clock().now(), count = 0, now = begin;
    while (count < kMostAlone && double(now - begin) < kAloneSeconds * 1e9) {
      next();
      ++count;
      now = steady_clock().now();
    }
    return double(now - begin) / double(count);
  }

  const ExperimentPlace& place_;
  Observed& observed_;
  CounterfactualFacts& facts_;
};

}  // namespace

void make_experiments(const ExperimentPlace& place, Observed& observed) {
  Laboratory(place, observed).run();
}

}  // namespace stoker::doctor
