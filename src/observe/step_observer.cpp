// Tier 0: what is measured during every fit. A step costs a copy into a ring; everything else is
// read about once a second.
#include "observe/step_observer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "observe/advice.h"
#include "observe/device_monitor.h"
#include "observe/observed.h"
#include "observe/profile/callback.h"
#include "observe/profile/session.h"
#include "observe/progress_writer.h"
#include "observe/thresholds.h"
#include "observe/tuning.h"
#include "observe/verdict.h"
#include "observe/whole_fit.h"
#include "observe/words.h"
#include "train/callbacks/callback_support.h"
#include "train/fit/loops.h"
#include "train/fit/processes.h"
#include "train/model/trainer.h"

namespace stoker::doctor {

namespace {

constexpr int64_t kReadingNs = 1'000'000'000;
constexpr int64_t kWarmUp = 10;
constexpr int64_t kCountersAfterNs = 100'000'000;   // reading them takes tenths of a millisecond
constexpr int64_t kFirstLook = 60;                  // steps before the first word
constexpr int64_t kPeaksAfterNs = 100'000'000'000;  // measuring them takes up to a second
constexpr size_t kWordWindow = 300;                 // steps that the word is made of
constexpr int64_t kPatience = 30;                   // steps before tuning begins

// STOKER_RUN_DIRECTORY: every fit of a process that asks for no folder gets one below it, fit-1,
// fit-2, …: a program can be looked at as it is.
std::string run_directory_of(const FitArgs& args) {
  static std::atomic<int> fits = 0;
  if (!args.run_directory.empty()) return args.run_directory;
  const char* all = std::getenv("STOKER_RUN_DIRECTORY");  // NOLINT(concurrency-mt-unsafe)
  if (all == nullptr || *all == '\0') return "";
  return fmt::format("{}/fit-{}", all, ++fits);
}

class Observer final : public StepObserver {
 public:
  explicit Observer(const FitView& view)
      : view_(view),
        run_directory_(run_directory_of(view.args)),
        begin_(steady_clock().now()),
        progress_(view, run_directory_, begin_),
        recording_(kWarmUp) {}

  void fit_began() override { progress_.begin(); }

  void step_ended(const StepTimes& times) override {
    progress_.add(times);
    std::shared_ptr<ProfileSession> profile = active_session().get();
    whole_.add(times);
    epoch_.add(times);
    if (profile) profile->add(recording_.steps(), times);
    // Measuring peaks and writing files is no part of the training.
    if ((profile != nullptr) == std::exchange(profiled_, profile != nullptr))
      recording_.add(times);
    else
      recording_.leave_out();
    take_device_steps();
    last_ = times;
    bool first = recording_.steps() == kWarmUp;
    bool counts_late = !cpu_ && recording_.steps() > kWarmUp && counts(times.end);
    if (first || counts_late || times.end - last_reading_ >= kReadingNs) read(times.end);
    if (view_.args.tune == Tune::automatic) tune(times);
  }

  void epoch_ended(const EpochTimes& times) override {
    whole_.add(times, last_);
    ++epochs_;
    gather_ranks();
    progress_.epoch_ended();
  }

  void catch_up() override {
    for (const auto& cached : view_.model.trainer->programs.entries()) cached->program->status();
    take_device_steps();
  }

  void fit_ended() override {
    int64_t end = steady_clock().now();
    take_device_steps();
    if (recording_.steps() <= kWarmUp) return;
    read(end);
    auto observed = std::make_shared<Observed>();
    observed->fit = whole_.shares(end - begin_);
    observed->looked_seconds = whole_.looked_seconds();
    observed->evidence = recording_.evidence();
    observed->evidence.epochs = whole_.epochs();
    fill_health(observed->evidence);
    add_device(observed->evidence, step_of(observed->evidence), view_.context);
    if (long_enough()) add_costs(observed->evidence, step_of(observed->evidence), view_.context);
    if (tuning_) observed->prescriptions = tuning_->tried();
    conclude(*observed, observed->evidence);
    if (whole_.waited_seconds() + between_seconds() >= kWorthSayingSeconds || recording_.beside())
      advice_ = advice_for(*observed, observed->evidence);
    observed->course = recording_.course();
    observed->device = recording_.samples();
    add_machine(*observed, view_.model, view_.context);
    if (!run_directory_.empty()) write_report(*observed);
    view_.model.trainer->diagnosis = std::move(observed);
    concluded_ = true;
  }

  void fit_over(const std::string& error) override {
    progress_.end(error, concluded_ ? view_.model.trainer->diagnosis.get() : nullptr);
  }

  std::unique_ptr<Callback> make_profiler(const std::string& log_dir, StepRange steps,
                                          const char* who) const override {
    return stoker::make_profiler(log_dir, steps, who);
  }

  std::string status() const override { return status_; }
  std::string limit() const override {
    if (recording_.steps() < kFirstLook) return "";
    return std::string(name(limit_of(latest_evidence())));
  }
  std::optional<History::Waited> waited() override {
    EpochWaits host = whole_.take_epoch();
    take_device_steps();
    StepShares shares;
    if (recording_.beside()) {
      shares = recording_.evidence(steps_of_epoch()).total().shares();
    } else if (host.wall > 0) {
      shares[Owner::input] = double(host.input) / double(host.wall);
      shares[Owner::sync] = double(host.sync) / double(host.wall);
    }
    double share = waiting(shares);
    if (share <= kWorthSaying || share * double(host.wall) * 1e-9 < kWorthSayingSeconds)
      return std::nullopt;
    return History::Waited{last_.epoch, std::string(name(longest_wait(shares))), share};
  }

  std::string advice() const override { return advice_; }

  bool is_tuning() const override { return view_.args.tune == Tune::automatic && !tuned_; }

  std::vector<std::pair<std::string, double>> scalars() const override {
    std::vector<std::pair<std::string, double>> list;
    size_t of_epoch = steps_of_epoch();
    if (of_epoch == 0) return list;
    Evidence evidence = recording_.evidence(of_epoch);
    double seconds = evidence.step_ns * 1e-9;
    list.emplace_back("step_milliseconds", seconds * 1e3);
    list.emplace_back("samples_per_second", double(evidence.batch_size) / seconds);
    StepShares shares = evidence.total().shares();
    for (size_t i = 0; i < kOwners; ++i)
      list.emplace_back("share_" + std::string(name(Owner(i))), shares.share[i]);
    const DeviceSample* sample =
        recording_.samples().empty() ? nullptr : &recording_.samples().back();
    if (sample != nullptr && sample->use >= 0) list.emplace_back("gpu_use", sample->use);
    if (sample != nullptr && sample->memory_bytes >= 0)
      list.emplace_back("gpu_memory_bytes", sample->memory_bytes);
    if (sample != nullptr && sample->process_cores >= 0)
      list.emplace_back("process_cores", sample->process_cores);
    return list;
  }

 private:
  size_t steps_of_epoch() const {
    return size_t(std::ranges::count_if(recording_.latest(), [&](const StepRecord& step) {
      return step.times.epoch == last_.epoch;
    }));
  }

  // A training that is done is not lost to a report that cannot be written.
  void write_report(Observed& observed) const {
    try {
      observed.write(run_directory_);
    } catch (const FileError& error) {
      observed.trust += fmt::format("; the report was not written: {}", error.what());
    }
  }

  double between_seconds() const {
    EpochFacts epochs = whole_.epochs();
    return double(epochs.count) * (epochs.validation_ns + epochs.turn_ns) * 1e-9;
  }

  bool long_enough() const { return steady_clock().now() - begin_ >= kPeaksAfterNs; }

  // Of every program: the last batch of an epoch may have one of its own.
  void take_device_steps() {
    std::shared_ptr<ProfileSession> profile = active_session().get();
    if (recording_.steps() < kWarmUp && profile == nullptr) return;
    DeviceStep device;
    for (const auto& cached : view_.model.trainer->programs.entries()) {
      if (!is_training(*cached)) continue;
      while (cached->program->take_device_step(device)) {
        recording_.add(device);
        if (profile) profile->add(device);
      }
    }
  }

  // Everything that is too dear for every step.
  void read(int64_t now) {
    last_reading_ = now;
    PipelineStatistics pipeline;
    BatchStream* stream = view_.training.stream();
    if (stream != nullptr && stream->measure(pipeline)) recording_.add(pipeline);
    std::vector<CallbackFacts> callbacks;
    const CallbackCalls& calls = view_.callbacks;
    for (size_t i = 0; i < calls.list().size(); ++i)
      callbacks.push_back({class_name(*calls.list()[i]), double(calls.step_nanoseconds()[i]),
                           double(calls.nanoseconds()[i]) / double(std::max(epochs_, 1))});
    recording_.set_callbacks(std::move(callbacks));
    sample_device(now);
    if (recording_.steps() >= kFirstLook)
      look();
    else
      progress_.write(nullptr);
  }

  // A short fit over arrays does without the operating system's counters: some of them tick every
  // 10 ms, and there is no pipeline whose workers they could explain.
  bool counts(int64_t now) const {
    return view_.training.arrays() == nullptr || now - begin_ >= kCountersAfterNs;
  }

  void sample_cores(DeviceSample& sample) {
    CpuCounters counters = read_cpu_counters();
    recording_.add(counters);
    HealthFacts health;
    if (cpu_) add_to(health, *cpu_, counters);
    if (cpu_) sample.process_cores = health.process_cores, sample.other_cores = health.other_cores;
    cpu_ = std::move(counters);
  }

  void sample_device(int64_t now) {
    DeviceSample sample{.time = double(now - begin_) * 1e-9};
    if (counts(now)) sample_cores(sample);
    // The driver needs milliseconds for its answer: a short fit does without.
    const Backend& engine = engine_of(view_.context);
    if (!engine.bus_id().empty() && now - begin_ >= kReadingNs) {
      int gpu = monitored_gpu(engine);
      gpu_ = device_monitor().state(gpu);
      sample.use = gpu_.use;
      sample.memory_bytes = double(gpu_.memory_bytes);
      sample.power_watts = gpu_.power_watts;
      sample.clock_mhz = gpu_.clock_mhz;
      GpuActivity activity = device_monitor().activity(gpu);
      sample.occupancy = activity.occupancy;
      sample.tensor_use = activity.tensor_use;
      sample.memory_use = activity.memory_use;
    }
    recording_.add(sample);
  }

  // What the steps of this epoch were on every rank; all of them come here at the end of an epoch.
  void gather_ranks() {
    Processes* processes = processes_of(*view_.model.trainer);
    if (processes == nullptr) return;
    int64_t waited = view_.model.trainer->distribution->waited_ns();
    auto steps = double(std::max<int64_t>(epoch_.steps, 1));
    std::array<double, 4> mine = {double(epoch_.wall) / steps, double(epoch_.input) / steps,
                                  double(waited - waited_) / steps, double(epoch_.rows) / steps};
    waited_ = waited;
    epoch_ = {};
    auto count = size_t(processes->slice().size);
    std::vector<std::array<double, 4>> all(count);
    processes->all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    ranks_.clear();
    for (size_t i = 0; i < count; ++i)
      ranks_.push_back({.rank = int64_t(i),
                        .host = processes->host(int64_t(i)),
                        .step_ns = all[i][0],
                        .input_ns = all[i][1],
                        .wait_ns = all[i][2],
                        .rows = all[i][3]});
  }

  void fill_health(Evidence& evidence) const {
    evidence.ranks = ranks_;
    add_gpu(evidence.device, gpu_);
    evidence.health.gpu_throttle_reasons = gpu_.throttle_reasons;
    if (gpu_.at_power_limit) evidence.health.gpu_power_limit = gpu_.power_limit_watts;
    evidence.health.pcie_generation = gpu_.pcie_generation;
    evidence.health.pcie_generation_max = gpu_.pcie_generation_max;
    evidence.health.pcie_width = gpu_.pcie_width;
    evidence.health.pcie_width_max = gpu_.pcie_width_max;
  }

  Evidence latest_evidence() const {
    Evidence evidence = recording_.evidence(kWordWindow);
    fill_health(evidence);
    add_device(evidence, step_of(evidence), view_.context);
    if (long_enough()) add_costs(evidence, step_of(evidence), view_.context);
    return evidence;
  }

  void look() {
    Evidence evidence = latest_evidence();
    StepShares shares = evidence.total().shares();
    status_ = fmt::format("device {}  limit: {}", percent(shares[Owner::compute]),
                          name(limit_of(evidence)));
    if (run_directory_.empty()) return;
    Diagnosis now;
    conclude(now, evidence);
    now.course = recording_.course();
    if (!recording_.samples().empty()) now.device = {recording_.samples().back()};
    progress_.write(&now);
  }

  // --- tune = Auto ---

  void tune(const StepTimes& times) {
    if (tuned_ || recording_.steps() < kWarmUp + kPatience) return;
    if (!tuning_ && !begin_tuning()) return;
    tuning_->step_ended(times.end - times.asked);
    tuned_ = tuning_->done();
    if (tuned_) recording_.begin_anew();  // what limits next
  }

  // Only where something can be done; whether the device waits for input is looked at for a while.
  bool begin_tuning() {
    BatchStream* stream = view_.training.stream();
    std::optional<PipelineStatistics> pipeline;
    PipelineStatistics statistics;
    if (stream != nullptr && stream->measure(statistics)) pipeline = std::move(statistics);
    Evidence evidence = recording_.evidence(size_t(kPatience));
    const CachedProgram* step = step_of(evidence);
    std::optional<DeviceKnobs> device = step ? step->program->device_knobs() : std::nullopt;
    bool waits = evidence.total().shares()[Owner::input] >= kWorthIt;
    std::vector<Remedy> remedies = remedies_for(pipeline, device, waits, evidence.batch_size);
    if (remedies.empty()) {
      tuned_ = recording_.steps() > int64_t(kWordWindow);  // it will not begin to wait
      return false;
    }
    tuning_.emplace(std::move(remedies), TuneSettings{.device = device.value_or(DeviceKnobs{})},
                    [this](const TuneSettings& settings) { apply(settings); });
    return true;
  }

  void apply(const TuneSettings& settings) {
    // Of all programs: the latest may be that of an epoch's last batch.
    set_device_knobs(view_.model, settings.device);
    BatchStream* stream = view_.training.stream();
    if (stream == nullptr || settings.pipeline == pipeline_knobs_) return;
    stream->retune(settings.pipeline);
    pipeline_knobs_ = settings.pipeline;
  }

  const CachedProgram* step_of(const Evidence& evidence) const {
    return step_for(view_.model, evidence.batch_size);
  }

  // Sums over the steps of an epoch.
  struct EpochSums {
    int64_t steps = 0, wall = 0, input = 0, rows = 0;
    void add(const StepTimes& times) {
      ++steps;
      wall += times.end - times.asked;
      input += times.ready - times.asked;
      rows += times.samples;
    }
  };

  EpochSums epoch_;
  int64_t waited_ = 0;
  std::vector<RankFacts> ranks_;
  int epochs_ = 0;  // that have ended
  FitView view_;
  std::string run_directory_;  // empty: none
  int64_t begin_, last_reading_ = 0;
  ProgressWriter progress_;
  Recording recording_;
  WholeFit whole_;
  StepTimes last_;
  std::optional<CpuCounters> cpu_;
  GpuState gpu_;
  bool concluded_ = false;
  bool profiled_ = false;  // in the step before
  std::string status_, advice_;
  // Tuning:
  bool tuned_ = false;
  std::optional<Tuning> tuning_;
  PipelineKnobs pipeline_knobs_;
};

}  // namespace

}  // namespace stoker::doctor

namespace stoker {

std::unique_ptr<StepObserver> make_step_observer(const FitView& view) {
  return std::make_unique<doctor::Observer>(view);
}

}  // namespace stoker
