// diagnose(): trains for some steps, then asks what would be under other circumstances.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include <fmt/format.h>
#include <stoker/doctor.h>

#include "base/clock.h"
#include "observe/layer_times.h"
#include "observe/observed.h"
#include "observe/snapshot.h"
#include "observe/words.h"
#include "train/loops.h"
#include "train/step_observer.h"
#include "train/steps.h"

namespace stoker {

namespace {

constexpr int kReplaySteps = 20, kLayerSteps = 10;
constexpr int kReplayWarmUp = 4;    // a GPU captures a step for each place of its inputs
constexpr int64_t kMostAlone = 60;  // batches of the pipeline alone
constexpr double kAloneSeconds = 2;
constexpr int64_t kMostTuning = 10'000;  // steps, should trials never end

// Two copies of a batch, one behind the other.
std::vector<Tensor> doubled(std::span<const Tensor> batch) {
  std::vector<Tensor> result;
  result.reserve(batch.size());
  for (const Tensor& tensor : batch) {
    Shape shape = tensor.shape();
    shape.set(0, 2 * shape[0]);
    Tensor twice(tensor.dtype(), shape);
    for (size_t half = 0; half < 2; ++half)
      std::memcpy(static_cast<char*>(twice.raw_mut()) + half * tensor.bytes(), tensor.raw(),
                  tensor.bytes());
    result.push_back(std::move(twice));
  }
  return result;
}

// Ends a fit so many steps after its tuning.
class UntilTuned final : public Callback {
 public:
  UntilTuned(Trainer& trainer, int64_t steps) : trainer_(trainer), left_(steps) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    if (!trainer_.observer->is_tuning() && --left_ <= 0) trainer_.stop = true;
  }

 private:
  Trainer& trainer_;
  int64_t left_;
};

class Experiments {
 public:
  Experiments(const Model& model, const Batches& batches, const DiagnoseOptions& options)
      : model_(model),
        base_(ModelAccess::base(model)),
        batches_(batches),
        options_(options),
        begin_(steady_clock().now()) {
    compiled_of(base_, "diagnose");
    if (!batches.repeatable())
      throw ValueError(
          "diagnose: the batches can be walked only once; pass a Dataset or a range of batches");
    if (options.steps < 1 || options.warm_up < 0)
      throw ValueError(
          fmt::format("diagnose: steps is {} and warm_up {}, expected at least 1 and 0",
                      options.steps, options.warm_up));
    take_first_batch();
  }

  Diagnosis run() {
    if (std::string why = why_it_does_not_fit(); !why.empty()) return too_large(why);
    StateSnapshot state(base_);
    std::optional<DeviceKnobs> knobs = step_program().device_knobs();
    Observed observed = watch(Tune::off);
    Evidence& evidence = observed.evidence;
    if (options_.layers && has_time()) time_all_layers(observed);
    if (options_.counterfactuals) what_if(observed);
    add_costs(evidence, base_, context());
    double host = host_share(evidence.device);
    for (WindowFacts& window : evidence.windows)
      window.accounting = moved(window.accounting, host, evidence.device.launch_share);
    conclude(observed, evidence);
    if (options_.fix && has_time()) fix(observed);
    if (knobs) step_program().set_device_knobs(*knobs);
    state.restore();
    return observed;
  }

 private:
  const Context& context() const { return *base_.trainer->context; }
  bool has_time() const { return double(steady_clock().now() - begin_) * 1e-9 < options_.seconds; }

  void take_first_batch() {
    std::unique_ptr<BatchStream> walk = batches_.begin_walk();
    const Batch* batch = walk->next();
    if (batch == nullptr) throw ValueError("diagnose: the data is empty: there is no batch");
    for (const Tensor& tensor : *batch) {
      Tensor copy(tensor.dtype(), tensor.shape());
      std::memcpy(copy.raw_mut(), tensor.raw(), tensor.bytes());
      batch_.push_back(std::move(copy));
    }
    prepare(base_, batch_, "diagnose");
  }

  // Before the first step: what it would need against what is there.
  std::string why_it_does_not_fit() {
    size_t free = engine_of(context()).free_bytes(compile_options(context()));
    try {
      std::optional<MemoryUse> plan = model_.memory_plan(batch_[0].shape()[0]);
      if (!plan || free == 0 || size_t(plan->total) <= free) return "";
      return fmt::format("a step of {} samples needs {:.1f} MB, and {:.1f} MB are there",
                         batch_[0].shape()[0], double(plan->total) * 1e-6, double(free) * 1e-6);
    } catch (const OutOfMemoryError& error) {
      return error.what();
    }
  }

  bool fits(int64_t batch) const {
    size_t free = engine_of(context()).free_bytes(compile_options(context()));
    try {
      std::optional<MemoryUse> plan = model_.memory_plan(batch);
      return plan && size_t(plan->total) <= free;
    } catch (const OutOfMemoryError&) {
      return false;
    }
  }

  // The largest power of two that fits; 0: none.
  int64_t batch_that_fits() const {
    auto batch = int64_t(std::bit_floor(uint64_t(batch_[0].shape()[0])));
    while (batch > 0 && !fits(batch)) batch /= 2;
    return batch;
  }

  Diagnosis too_large(const std::string& why) const {
    Diagnosis diagnosis;
    Verdict& verdict = diagnosis.verdict;
    verdict.finding = Finding::health;
    verdict.cause = Cause::out_of_memory;
    verdict.health = {why};
    verdict.sentence = fmt::format("The model does not fit into memory: {}.", why);
    auto propose = [&](std::string what, std::string reason) {
      diagnosis.prescriptions.push_back(
          {.what = std::move(what), .why = std::move(reason), .changes_results = true});
    };
    if (int64_t batch = batch_that_fits(); batch > 0)
      propose(fmt::format("A batch of {}, with gradient_accumulation_steps = {} of the optimiser",
                          batch, (batch_[0].shape()[0] + batch - 1) / batch),
              "its plan fits, and the effective batch stays");
    propose("A smaller model, or smaller inputs", "weights and activations are what is held");
    diagnosis.trust = "known from the plan; nothing was run";
    return diagnosis;
  }

  // A fit as the user's, with its observer.
  Observed watch(Tune tune) {
    int64_t steps = options_.warm_up + options_.steps;
    std::vector<CallbackRef> callbacks = options_.callbacks;
    if (tune == Tune::automatic) {
      callbacks.emplace_back(std::make_shared<UntilTuned>(*base_.trainer, options_.steps));
      steps = kMostTuning;
    }
    base_.trainer->diagnosis.reset();
    model_.fit(batches_, {.epochs = 1,
                          .steps_per_epoch = steps,
                          .verbose = 0,
                          .callbacks = callbacks,
                          .tune = tune});
    auto seen = std::static_pointer_cast<const Observed>(base_.trainer->diagnosis);
    if (seen == nullptr)
      throw ValueError(fmt::format("diagnose: {} steps are too few to say anything", steps));
    return *seen;
  }

  void time_all_layers(Observed& observed) {
    observed.layers = time_layers(base_, batch_, kLayerSteps);
    rate_layers(observed.layers, context(), double(step_program().memory().total));
    const MachinePeaks& peaks = machine_peaks(context());
    observed.peak_flops = peaks.flops;
    observed.peak_bandwidth = peaks.bytes;
    observed.peak_cache_bandwidth = peaks.cache_bytes;
    add_layers(observed.evidence.device, observed.layers);
  }

  void what_if(Observed& observed) {
    CounterfactualFacts& facts = observed.evidence.what_if;
    auto note = [&](const char* name, double ns, const char* meaning) {
      observed.counterfactuals.push_back({name, ns * 1e-9, meaning});
    };
    if (has_time()) {
      facts.replay_ns = replay_ns(batch_);
      note("one batch, replayed", *facts.replay_ns, "a step if input were free: pipeline paused");
    }
    if (has_time()) device_what_if(observed);
    if (has_time()) {
      facts.pipeline_alone_ns = pipeline_alone_ns();
      note("pipeline alone", *facts.pipeline_alone_ns, "a batch if nobody took it");
    }
    if (has_time() && size_t(batch_[0].shape()[0]) > 0) {
      try {
        facts.double_batch_ns = replay_ns(doubled(batch_));
        note("batch × 2, replayed", *facts.double_batch_ns, "a step of twice as many samples");
      } catch (const Error&) {
        observed.counterfactuals.push_back({"batch × 2, replayed", 0, "it does not fit"});
      }
    }
  }

  // Where a device works beside the host: the same batch without its copy, and with what is off.
  void device_what_if(Observed& observed) {
    Program& program = step_program();
    std::optional<DeviceKnobs> now = program.device_knobs();
    if (!now) return;
    CounterfactualFacts& facts = observed.evidence.what_if;
    auto replay_with = [&](const DeviceKnobs& knobs, const char* name, const char* meaning) {
      program.set_device_knobs(knobs);
      double ns = replay_ns(batch_);
      observed.counterfactuals.push_back({name, ns * 1e-9, meaning});
      return ns;
    };
    DeviceKnobs knobs = *now;
    knobs.reuse_inputs = true;
    facts.resident_ns =
        replay_with(knobs, "the same, on the device", "a step if copies were free too");
    knobs = *now;
    knobs.capture = true;
    if (!now->capture) {
      facts.captured_ns =
          replay_with(knobs, "captured, replayed", "a step that the host starts as one");
      double slower = std::max(*facts.replay_ns, *facts.captured_ns);
      observed.evidence.device.launch_share = 1 - *facts.captured_ns / slower;
    }
    knobs = *now;
    knobs.pin = true;
    if (!now->pin)
      facts.pinned_ns =
          replay_with(knobs, "page-locked, replayed", "a step whose copies run beside it");
    program.set_device_knobs(*now);
  }

  Program& step_program() {
    return *program_for(base_, training_kind(*base_.trainer), batch_, "diagnose").program;
  }

  double replay_ns(std::span<const Tensor> batch) {
    StepPlace place{.action = "diagnose", .epoch = 0, .step = 0};
    for (int i = 0; i < kReplayWarmUp; ++i) run_training_step(base_, batch, place);
    finish_training_steps(base_, place);
    int64_t begin = steady_clock().now();
    for (int i = 0; i < kReplaySteps; ++i) run_training_step(base_, batch, place);
    finish_training_steps(base_, place);
    return double(steady_clock().now() - begin) / kReplaySteps;
  }

  // What lies ready is taken first; then batches come as fast as they are made.
  double pipeline_alone_ns() {
    std::unique_ptr<BatchStream> walk = batches_.begin_walk({.more_follow = true});
    PipelineStatistics statistics;
    int64_t ready = walk->measure(statistics) ? int64_t(statistics.depth) + 2 : 2;
    auto next = [&] {
      if (walk->next() != nullptr) return;
      if (!walk->continues_with(++epoch_)) walk = batches_.begin_walk({.epoch = epoch_});
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

  // The same fit with what may be changed. What was tried comes first, with what was predicted.
  void fix(Observed& observed) {
    Observed tuned = watch(Tune::automatic);
    std::vector<Prescription> list;
    for (Prescription& each : tuned.prescriptions)
      if (each.tried) list.push_back(std::move(each));
    if (list.empty()) return;
    size_t tried = list.size();
    for (Prescription& proposed : observed.prescriptions) {
      auto same =
          std::find_if(list.begin(), list.begin() + int64_t(tried), [&](const Prescription& each) {
            return proposed.knob != Knob::none && each.knob == proposed.knob;
          });
      if (same == list.begin() + int64_t(tried))
        list.push_back(std::move(proposed));
      else if (same->predicted_step_seconds == 0)
        same->predicted_step_seconds = proposed.predicted_step_seconds;
    }
    observed.prescriptions = std::move(list);
    observed.counterfactuals.push_back(
        {"with what was kept", tuned.step_seconds,
         fmt::format("what limits next: {}", name(tuned.verdict.limit)).c_str()});
  }

  const Model& model_;
  ModelBase& base_;
  const Batches& batches_;
  const DiagnoseOptions& options_;
  int64_t begin_, epoch_ = 0;
  std::vector<Tensor> batch_;
};

}  // namespace

Diagnosis diagnose(const Model& model, const Batches& batches, const DiagnoseOptions& options) {
  return Experiments(model, batches, options).run();
}

std::optional<Diagnosis> last_diagnosis(const Model& model) {
  const ModelBase& base = ModelAccess::base(model);
  if (base.trainer == nullptr || base.trainer->diagnosis == nullptr) return std::nullopt;
  return *base.trainer->diagnosis;
}

}  // namespace stoker
