// Steps of several models, timed in alternating blocks.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.h"
#include "compress/compared.h"
#include "observe/machine_peaks.h"
#include "train/step/steps.h"

namespace stoker::compress {

namespace {

constexpr double kBlockSeconds = 0.02;
constexpr double kPeakSeconds = 0.5;  // measuring the device's peak takes about as long
constexpr size_t kFewestBlocks = 5, kMostBlocks = 40;
constexpr int kWarmUp = 3;  // a GPU's second run is captured, its third replayed

double middle(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[size_t(share * double(values.size() - 1) + 0.5)];
}

// Student's factor of a 95 % interval.
double student(size_t count) {
  constexpr std::array kFactors = {12.7, 4.30, 3.18, 2.78, 2.57, 2.45,
                                   2.36, 2.31, 2.26, 2.23, 2.20};
  if (count < 2) return 0;
  return count - 2 < kFactors.size() ? kFactors[count - 2] : 2.0;
}

class Block {
 public:
  Block(TimedStep step, stoker::StepKind kind, const std::vector<Tensor>& inputs)
      : step_(step), inputs_(inputs), cached_(make(step, kind, inputs)) {
    Program& program = *cached_.program;
    if (std::optional<DeviceKnobs> knobs = program.device_knobs()) {
      knobs->reuse_inputs = true;
      program.set_device_knobs(*knobs);
    }
    run(kWarmUp);
    double one = std::max(run(1), 1e-7);
    count_ = std::max<int64_t>(1, int64_t(kBlockSeconds / one));
  }

  void measure() { seconds_.push_back(run(count_) / double(count_)); }
  const std::vector<double>& seconds() const { return seconds_; }
  double pass() const { return seconds_.back() * double(count_); }
  const CachedProgram& cached() const { return cached_; }
  ModelFigures& figures() const { return *step_.figures; }

 private:
  static CachedProgram& make(TimedStep step, stoker::StepKind kind,
                             const std::vector<Tensor>& inputs) {
    return program_for(*step.model, kind, std::span<const Tensor>(inputs), "compare");
  }

  double run(int64_t steps) {
    int64_t begin = steady_clock().now();
    for (int64_t i = 0; i < steps; ++i) cached_.program->run(inputs_);
    cached_.program->status();
    return double(steady_clock().now() - begin) * 1e-9;
  }

  TimedStep step_;
  const std::vector<Tensor>& inputs_;
  CachedProgram& cached_;
  int64_t count_ = 1;
  std::vector<double> seconds_;
};

double flops_of(const Graph& graph) {
  double sum = 0;
  for (Phase phase : {Phase::forward, Phase::backward, Phase::update})
    sum += graph.cost(phase).flops;
  return sum;
}

StepTime step_time(const Block& block, const Block& first, int64_t batch, double peak) {
  const std::vector<double>&ours = block.seconds(), &theirs = first.seconds();
  StepTime time{
      .seconds = middle(ours, 0.5), .low = middle(ours, 0.25), .high = middle(ours, 0.75)};
  time.samples_per_second = double(batch) / time.seconds;
  if (peak > 0) time.device_share = flops_of(*block.cached().graph) / time.seconds / peak;
  double sum = 0, squares = 0, count = double(ours.size());
  for (size_t i = 0; i < ours.size(); ++i) sum += std::log(theirs[i] / ours[i]);
  for (size_t i = 0; i < ours.size(); ++i)
    squares += std::pow(std::log(theirs[i] / ours[i]) - sum / count, 2);
  double reach = student(ours.size()) * std::sqrt(squares / std::max(count - 1, 1.0) / count);
  time.speedup = std::exp(sum / count);
  time.speedup_low = std::exp(sum / count - reach);
  time.speedup_high = std::exp(sum / count + reach);
  return time;
}

// Each turn begins with another model.
void take_turns(std::vector<Block>& blocks, double seconds) {
  double spent = 0;
  for (size_t turn = 0; turn < kMostBlocks && (turn < kFewestBlocks || spent < seconds); ++turn)
    for (size_t i = 0; i < blocks.size(); ++i) {
      Block& block = blocks[(i + turn) % blocks.size()];
      block.measure();
      spent += block.pass();
    }
}

std::vector<StepTime> timed(const std::vector<TimedStep>& steps, stoker::StepKind kind,
                            const std::vector<Tensor>& inputs, double seconds) {
  std::vector<Block> blocks;
  blocks.reserve(steps.size());
  for (const TimedStep& step : steps) blocks.emplace_back(step, kind, inputs);
  take_turns(blocks, seconds);
  const Context& context = *steps[0].model->trainer->context;
  bool worth_it = seconds >= kPeakSeconds && !traits_of(context).oracle;
  double peak = worth_it ? machine_peaks(context).flops : 0;
  std::vector<StepTime> times;
  for (const Block& block : blocks)
    times.push_back(step_time(block, blocks[0], inputs[0].shape()[0], peak));
  return times;
}

size_t program_bytes(ModelBase& model, stoker::StepKind kind, const std::vector<Tensor>& inputs) {
  return program_for(model, kind, std::span<const Tensor>(inputs), "compare")
      .program->memory()
      .total;
}

}  // namespace

void time_training(const std::vector<TimedStep>& steps, std::vector<Tensor> batch, double seconds) {
  if (steps.empty()) return;
  std::vector<std::unique_ptr<StateSnapshot>> before;  // put back when they go
  for (const TimedStep& step : steps) {
    before.push_back(std::make_unique<StateSnapshot>(*step.model));
    step.figures->training_bytes =
        int64_t(program_bytes(*step.model, stoker::StepKind::train, batch));
    before.back()->cover(*program_for(*step.model, stoker::StepKind::train,
                                      std::span<const Tensor>(batch), "compare")
                              .graph);
  }
  if (seconds <= 0) return;
  std::vector<StepTime> times = timed(steps, stoker::StepKind::train, batch, seconds);
  for (size_t i = 0; i < steps.size(); ++i) steps[i].figures->training = times[i];
}

void time_inference(const std::vector<TimedStep>& steps, std::vector<Tensor> inputs,
                    double seconds) {
  for (const TimedStep& step : steps)
    step.figures->inference_bytes =
        int64_t(program_bytes(*step.model, stoker::StepKind::predict, inputs));
  if (seconds <= 0) return;
  std::vector<StepTime> times = timed(steps, stoker::StepKind::predict, inputs, seconds);
  for (size_t i = 0; i < steps.size(); ++i) steps[i].figures->inference = times[i];
}

}  // namespace stoker::compress
