// The Profiler callback: which steps, and what becomes of a profile when a fit ends early.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "observe/profile/callback.h"
#include "observe/profile/control.h"
#include "train/callbacks/callback_support.h"
#include "train/fit/step_observer.h"

namespace stoker {

struct Profiler::Impl {
  ProfilerOptions options;
  std::string who = "Profiler";
  int64_t trained = 0;                      // batches of this fit
  std::shared_ptr<ProfileSession> session;  // null: it does not run
  std::optional<Profile> profile;

  Impl(ProfilerOptions given, std::string name) : options(std::move(given)), who(std::move(name)) {
    check_steps(options.steps, who);
  }
  ~Impl() { drop_profile(session); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // A profile that cannot be written does not end a training.
  template <class Act>
  void try_to(const Callback& callback, const Act& act) {
    try {
      act();
    } catch (const FileError& error) {
      say(callback, fmt::format("{}: no profile: {}; training goes on", who, error.what()));
    }
  }

  // Half of the steps stay undisturbed where a device replays them.
  void begin() {
    int64_t half = (options.steps.last - options.steps.first) / 2 + 1;
    session = begin_profile(
        options.log_dir,
        {.op_steps = std::min(ProfileOptions().op_steps, half), .max_events = options.max_events},
        who);
  }

  // A user's profiler::stop() may have come first.
  void end(const Callback& callback) {
    std::shared_ptr<ProfileSession> running = std::exchange(session, nullptr);
    if (active_session().get() != running) return;
    if (StepObserver* observer = trainer_of(callback).observer) observer->catch_up();
    try_to(callback, [&] { profile = end_profile(running, who); });
    if (options.verbose > 0 && profile)
      say(callback,
          fmt::format("{}: steps {} to {}: {}", who, options.steps.first,
                      std::min(trained, options.steps.last), fmt::join(profile->files, ", ")));
  }

  bool is_over() const { return session != nullptr && trained >= options.steps.last; }
};

Profiler::Profiler(ProfilerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options), "Profiler")) {}
Profiler::Profiler(ProfilerOptions options, const char* who)
    : impl_(std::make_unique<Impl>(std::move(options), who)) {}
Profiler::~Profiler() = default;
Profiler::Profiler(Profiler&&) noexcept = default;
Profiler& Profiler::operator=(Profiler&&) noexcept = default;

void Profiler::on_train_begin() {
  drop_profile(std::exchange(impl_->session, nullptr));  // of a fit that failed
  impl_->profile.reset();
  impl_->trained = 0;
  const FitParams& fit = params();
  const StepRange& steps = impl_->options.steps;
  int64_t all = fit.steps ? *fit.steps * fit.epochs : steps.first;  // also of a fit that goes on
  if (all < steps.first)
    throw ValueError(fmt::format("{}: steps {} to {} are asked for, but the fit has {}", impl_->who,
                                 steps.first, steps.last, all));
  if (steps.first == 1) impl_->begin();
}

void Profiler::on_train_batch_begin(int64_t) {
  if (impl_->is_over()) impl_->end(*this);
}

void Profiler::on_train_batch_end(int64_t, const Logs&) {
  if (++impl_->trained == impl_->options.steps.first - 1)
    impl_->try_to(*this, [&] { impl_->begin(); });
}

void Profiler::on_epoch_end(int64_t, const Logs&) {
  if (impl_->is_over()) impl_->end(*this);
}

void Profiler::on_train_end(const Logs&) {
  if (impl_->session)
    impl_->end(*this);
  else if (!impl_->profile && impl_->trained < impl_->options.steps.first)
    say(*this, fmt::format("{}: the training ended after {} steps, before step {}: nothing was "
                           "profiled",
                           impl_->who, impl_->trained, impl_->options.steps.first));
}

bool Profiler::on_non_finite(const NonFiniteError&) {
  if (impl_->session) impl_->end(*this);
  return false;
}

CallbackState Profiler::state() const { return {.values = {{"steps", impl_->trained}}}; }

void Profiler::restore(const CallbackState& state) {
  impl_->trained = remembered<int64_t>(state, impl_->who.c_str(), "steps");
  const StepRange& steps = impl_->options.steps;
  bool inside = impl_->trained >= steps.first - 1 && impl_->trained < steps.last;
  if (inside && !impl_->session) impl_->begin();
  if (!inside) drop_profile(std::exchange(impl_->session, nullptr));
}

const std::optional<Profile>& Profiler::profile() const { return impl_->profile; }

namespace {

class NamedProfiler final : public Profiler {
 public:
  NamedProfiler(const std::string& log_dir, StepRange steps, const char* who)
      : Profiler({.log_dir = log_dir, .steps = steps}, who) {}
};

}  // namespace

std::unique_ptr<Callback> make_profiler(const std::string& log_dir, StepRange steps,
                                        const char* who) {
  return std::make_unique<NamedProfiler>(log_dir, steps, who);
}

}  // namespace stoker
