// diagnose(): trains for some steps, then asks what would be under other circumstances.
#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <stoker/doctor.h>

#include "base/clock.h"
#include "observe/case.h"
#include "observe/counterfactuals.h"
#include "observe/layer_times.h"
#include "observe/verdict.h"
#include "train/fit/loops.h"
#include "train/fit/step_observer.h"
#include "train/step/steps.h"

namespace stoker::doctor {

namespace {

constexpr int kLayerSteps = 10;
constexpr int64_t kMostTuning = 10'000;  // steps, should trials never end

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
    auto put_knobs_back = [&] {
      if (knobs) set_device_knobs(base_, *knobs);
    };
    try {
      Observed observed = examine(state);
      put_knobs_back();
      state.restore();
      return observed;
    } catch (...) {
      put_knobs_back();
      throw;
    }
  }

 private:
  const Context& context() const { return *base_.trainer->context; }
  bool has_time() const { return double(steady_clock().now() - begin_) * 1e-9 < options_.seconds; }

  Observed examine(StateSnapshot& state) {
    Observed observed = watch(Tune::off);
    Evidence& evidence = observed.evidence;
    if (options_.layers && has_time()) time_all_layers(observed);
    if (options_.counterfactuals)
      make_experiments({base_, batches_, batch_, state, [this] { return has_time(); }}, observed);
    add_costs(evidence, &step(), context());                      // not those of the larger batch
    if (evidence.device.gpu && evidence.device.memory_share < 0)  // the fit was too short to ask
      add_gpu(evidence.device, device_monitor().state(monitored_gpu(engine_of(context()))));
    double compute = evidence.total().shares()[Owner::compute] * evidence.step_ns;
    double host = compute > 0 ? host_ns(evidence.device) / compute : 0;
    for (WindowFacts& window : evidence.windows)
      window.accounting = moved(window.accounting, host, evidence.device.launch_share);
    conclude(observed, evidence);
    state.restore();
    if (options_.fix && has_time()) fix(observed);
    return observed;
  }

  // Held where the pipeline has put it, so that replays copy out of the same kind of memory.
  void take_first_batch() {
    std::unique_ptr<BatchStream> walk =
        batches_.begin_walk({.context = &context(), .memory = &engine_of(context()).host_memory()});
    const Batch* batch = walk->next();
    if (batch == nullptr) throw ValueError("diagnose: the data is empty: there is no batch");
    batch_ = batch->tensors();
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
    conclude(diagnosis, {.batch_size = batch_[0].shape()[0],
                         .does_not_fit = why,
                         .fitting_batch = batch_that_fits()});
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
    Observed observed = *seen;
    observed.fit = {};  // it has neither the epochs nor the validation of the user's
    return observed;
  }

  void time_all_layers(Observed& observed) {
    observed.layers = time_layers(base_, batch_, kLayerSteps);
    auto held = double(step_program().memory().total);
    rate_layers(observed.layers, context(), held);
    const MachinePeaks peaks = machine_peaks(context(), held);
    observed.peak_flops = peaks.flops;
    observed.peak_bandwidth = peaks.memory.best();
    observed.peak_cache_bandwidth = peaks.cache.best();
    add_layers(observed.evidence.device, observed.layers, peaks, held);
  }

  CachedProgram& step() {
    return program_for(base_, training_kind(*base_.trainer), batch_, "diagnose");
  }
  Program& step_program() { return *step().program; }

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
  int64_t begin_;
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

}  // namespace stoker::doctor
