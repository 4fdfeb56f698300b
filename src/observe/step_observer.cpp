// Tier 0: what is measured during every fit. A step costs a copy into a ring; everything else is
// read about once a second.
#include "observe/step_observer.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "observe/advice.h"
#include "observe/fit_tuning.h"
#include "observe/machine_readings.h"
#include "observe/observed.h"
#include "observe/profile/callback.h"
#include "observe/profile/session.h"
#include "observe/progress_writer.h"
#include "observe/rank_times.h"
#include "observe/thresholds.h"
#include "observe/verdict.h"
#include "observe/whole_fit.h"
#include "observe/words.h"
#include "train/callbacks/callback_support.h"
#include "train/fit/loops.h"
#include "train/model/trainer.h"

namespace stoker::doctor {

namespace {

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
        recording_(kWarmUp),
        tuning_(view, recording_) {}

  void fit_began() override { progress_.begin(); }

  void step_ended(const StepTimes& times) override {
    progress_.add(times);
    std::shared_ptr<ProfileSession> profile = active_session().get();
    whole_.add(times);
    ranks_.add(times);
    if (profile) profile->add(recording_.steps(), times);
    // Measuring peaks and writing files is no part of the training.
    if ((profile != nullptr) == std::exchange(profiled_, profile != nullptr))
      recording_.add(times);
    else
      recording_.leave_out();
    take_device_steps();
    last_ = times;
    bool first = recording_.steps() == kWarmUp;
    bool counts_late =
        !machine_.has_counters() && recording_.steps() > kWarmUp && counts(times.end);
    if (first || counts_late || times.end - last_reading_ >= kReadingNs) read(times.end);
    tuning_.step_ended(times);
  }

  void epoch_ended(const EpochTimes& times) override {
    whole_.add(times, last_);
    ++epochs_;
    ranks_.epoch_ended(*view_.model.trainer);
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
    add_facts(observed->evidence);
    add_device(observed->evidence, step_of(observed->evidence), view_.context);
    if (long_enough()) add_costs(observed->evidence, step_of(observed->evidence), view_.context);
    observed->prescriptions = tuning_.tried();
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

  bool is_tuning() const override { return tuning_.is_under_way(); }

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
    machine_.read(now - begin_, counts(now), view_.context, recording_);
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

  void add_facts(Evidence& evidence) const {
    evidence.ranks = ranks_.facts();
    machine_.add_to(evidence);
  }

  Evidence latest_evidence() const {
    Evidence evidence = recording_.evidence(kWordWindow);
    add_facts(evidence);
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

  const CachedProgram* step_of(const Evidence& evidence) const {
    return step_for(view_.model, evidence.batch_size);
  }

  int epochs_ = 0;  // that have ended
  FitView view_;
  std::string run_directory_;  // empty: none
  int64_t begin_, last_reading_ = 0;
  ProgressWriter progress_;
  Recording recording_;
  FitTuning tuning_;
  RankTimes ranks_;
  MachineReadings machine_;
  WholeFit whole_;
  StepTimes last_;
  bool concluded_ = false;
  bool profiled_ = false;  // in the step before
  std::string status_, advice_;
};

}  // namespace

}  // namespace stoker::doctor

namespace stoker {

std::unique_ptr<StepObserver> make_step_observer(const FitView& view) {
  return std::make_unique<doctor::Observer>(view);
}

}  // namespace stoker
