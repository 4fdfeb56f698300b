// batch = auto: what it measures.
#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "train/fit/auto_batch.h"
#include "train/fit/made_up_batch.h"
#include "train/model/memory_table.h"
#include "train/model/state_snapshot.h"
#include "train/step/steps.h"

namespace stoker {

namespace {

constexpr const char* kAutoBatch = "auto_batch_size";
constexpr double kShareOfHost = 0.5;  // the rest is the pipeline's, and other people's
constexpr double kShareOfDevice = 0.9;
constexpr int kTrialWarmUp = 3;             // a GPU's second run is captured, its third replayed
constexpr int64_t kWindowNs = 20'000'000;   // steps that are timed together
constexpr int64_t kLongNs = 1'000'000'000;  // a step of that length is timed once
constexpr int kWindows = 3;

class BatchMeter {
 public:
  BatchMeter(ModelBase& model, std::span<const Tensor> columns, double allowed)
      : model_(model), columns_(columns), allowed_(allowed), state_(model) {}

  std::optional<double> samples_per_second(int64_t batch) {
    if (expected_bytes(batch) > 1.05 * allowed_) return std::nullopt;
    std::vector<Tensor> inputs = batch_of(batch);
    ProgramCache programs;  // of its own: what does not fit, or is not chosen, leaves nothing
    try {
      CachedProgram& step = program_for(model_, programs, training_kind(*model_.trainer),
                                        specs_of(inputs), kAutoBatch);
      auto bytes = double(step.program->memory().total);
      remember(batch, bytes);
      if (bytes > allowed_) {
        refusal_ = fmt::format("a step of {} samples takes {}, but {} may be used", batch,
                               human_bytes(bytes), human_bytes(allowed_));
        return std::nullopt;
      }
      state_.cover(*step.graph);
      double seconds = seconds_per_step(*step.program, inputs);
      state_.restore();  // weights that trained on noise for long would not be typical
      return double(batch) / seconds;
    } catch (const OutOfMemoryError& error) {
      refusal_ = error.needs();
      return std::nullopt;
    }
  }

  const std::string& refusal() const { return refusal_; }  // why the last one does not fit

 private:
  // A plan grows by the same amount with every sample, but for rounding.
  double expected_bytes(int64_t batch) const {
    if (bytes_before_ == 0) return 0;
    double per_sample = (bytes_ - bytes_before_) / double(batch_ - batch_before_);
    return bytes_ + per_sample * double(batch - batch_);
  }

  void remember(int64_t batch, double bytes) {
    batch_before_ = std::exchange(batch_, batch);
    bytes_before_ = std::exchange(bytes_, bytes);
  }

  std::vector<Tensor> batch_of(int64_t batch) const {
    if (columns_.empty()) return made_up_batch(model_, batch, kAutoBatch);
    std::vector<Tensor> rows;
    for (const Tensor& column : columns_) rows.push_back(column.slice(0, batch));
    return rows;
  }

  static int64_t window_ns(Program& program, std::span<const Tensor> inputs, int64_t steps) {
    int64_t begin = steady_clock().now();
    for (int64_t i = 0; i < steps; ++i) program.run(inputs);
    program.status();
    return steady_clock().now() - begin;
  }

  // The best of a few windows: what disturbs them only makes them longer. In a fit a device copies
  // its inputs during the previous step; the same batch again and again need not be copied at all.
  static double seconds_per_step(Program& program, std::span<const Tensor> inputs) {
    if (std::optional<DeviceKnobs> knobs = program.device_knobs()) {
      knobs->reuse_inputs = true;
      program.set_device_knobs(*knobs);
    }
    int64_t one = window_ns(program, inputs, 1);
    if (one < kLongNs) window_ns(program, inputs, kTrialWarmUp - 1);
    int64_t steps = 1, best = window_ns(program, inputs, steps);
    while (best < kWindowNs) {
      steps *= 2;
      best = window_ns(program, inputs, steps);
    }
    for (int i = 1; i < kWindows && best < kLongNs; ++i)
      best = std::min(best, window_ns(program, inputs, steps));
    return double(best) * 1e-9 / double(steps);
  }

  ModelBase& model_;
  std::span<const Tensor> columns_;
  double allowed_;
  StateSnapshot state_;
  int64_t batch_ = 0, batch_before_ = 0;
  double bytes_ = 0, bytes_before_ = 0;
  std::string refusal_;
};

// What a step may take; asked before any plan takes its part.
double allowed_bytes(const Context& context, const AutoBatchArgs& args) {
  Backend& engine = engine_of(context);
  if (args.memory > 0) return double(args.memory);
  auto free = double(engine.free_bytes(compile_options(context)));
  if (context.memory_limit > 0) return free;
  bool own_memory = engine.host_memory().page_locked();
  double allowed = free * (own_memory ? kShareOfDevice : kShareOfHost);
  return allowed > 0 ? allowed : 1e300;  // nothing is known about this machine
}

}  // namespace

AutoBatch measure_batch(ModelBase& model, std::span<const Tensor> columns,
                        const AutoBatchArgs& args) {
  BatchBounds range = batch_bounds(args);
  const Trainer& trainer = *model.trainer;
  double allowed = allowed_bytes(*trainer.context, args);
  BatchMeter meter(model, columns, allowed);
  AutoBatch chosen =
      grow_batch(range, [&](int64_t batch) { return meter.samples_per_second(batch); });
  if (chosen.batch == 0)
    throw OutOfMemoryError(
        fmt::format("{}: {}; the model or its inputs are too large for this device", kAutoBatch,
                    meter.refusal()));
  chosen.learning_rate = learning_rate_rule(trainer.compiled->args.optimizer.kind(), chosen.batch);
  return chosen;
}

AutoBatch measure_batch_size(const Model& model, const AutoBatchArgs& args) {
  ModelBase& base = ModelAccess::base(model);
  Use use(trainer_of(base).gate, kAutoBatch, UseMode::alone);
  compiled_of(base, kAutoBatch);
  if (base.trainer->busy)
    throw Error(fmt::format("{}: the model is being trained; ask when fit has ended", kAutoBatch));
  check_trainable(base, kAutoBatch);
  return measure_batch(base, {}, args);
}

}  // namespace stoker
