// diagnose(): trains for some steps, then asks what would be under other circumstances.
#include <algorithm>
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
#include "train/steps.h"

namespace stoker {

namespace {

constexpr int kReplaySteps = 20, kLayerSteps = 10;
constexpr int64_t kMostAlone = 60;  // batches of the pipeline alone
constexpr double kAloneSeconds = 2;

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
    StateSnapshot state(base_);
    Observed observed = watch(Tune::off);
    Evidence& evidence = observed.evidence;
    if (options_.layers && has_time()) time_all_layers(observed);
    if (options_.counterfactuals) what_if(observed);
    add_costs(evidence, base_, context());
    double host = host_share(evidence.device);
    for (WindowFacts& window : evidence.windows)
      window.accounting = moved(window.accounting, host, 0);
    conclude(observed, evidence);
    if (options_.fix && has_time()) fix(observed);
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

  // A fit as the user's, with its observer.
  Observed watch(Tune tune) {
    int64_t steps = options_.warm_up + options_.steps;
    if (tune == Tune::automatic) steps += 400;  // two remedies of eight pairs of blocks
    base_.trainer->diagnosis.reset();
    model_.fit(batches_, {.epochs = 1,
                          .steps_per_epoch = steps,
                          .verbose = 0,
                          .callbacks = options_.callbacks,
                          .tune = tune});
    auto seen = std::static_pointer_cast<const Observed>(base_.trainer->diagnosis);
    if (seen == nullptr)
      throw ValueError(fmt::format("diagnose: {} steps are too few to say anything", steps));
    return *seen;
  }

  void time_all_layers(Observed& observed) {
    const MachinePeaks& peaks = machine_peaks(context());
    observed.peak_flops = peaks.flops;
    observed.peak_bandwidth = peaks.bytes;
    observed.layers = time_layers(base_, batch_, kLayerSteps, peaks);
    add_layers(observed.evidence.device, observed.layers);
  }

  void what_if(Observed& observed) {
    CounterfactualFacts& facts = observed.evidence.what_if;
    auto note = [&](const char* name, double ns, const char* meaning) {
      observed.counterfactuals.push_back({name, ns * 1e-9, meaning});
    };
    if (has_time()) {
      facts.replay_ns = replay_ns(batch_);
      note("one batch, replayed", *facts.replay_ns, "a step if input were free");
    }
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

  double replay_ns(std::span<const Tensor> batch) {
    StepPlace place{.action = "diagnose", .epoch = 0, .step = 0};
    run_training_step(base_, batch, place);
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

  // The same fit with what may be changed; what helped is in the list of prescriptions, first.
  void fix(Observed& observed) {
    Observed tuned = watch(Tune::automatic);
    std::vector<Prescription> tried;
    for (Prescription& each : tuned.prescriptions)
      if (each.tried) tried.push_back(std::move(each));
    observed.prescriptions.insert(observed.prescriptions.begin(), tried.begin(), tried.end());
    if (tried.empty()) return;
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
