// Where the time of a fit goes: what a fit tells whoever observes it (fit/services.h). The loop
// reads the clock six times per step; everything is called on the thread that trains.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stoker/callbacks.h>
#include <stoker/context.h>
#include <stoker/history.h>

namespace stoker {

class CallbackCalls;
class Feed;
class ModelBase;
struct FitArgs;

// Nanoseconds of steady_clock(). asked → ready: waiting for the batch; ready → run: callbacks
// before the step, and weights of classes; run → ran: the step itself on a CPU, its launch where
// the device works beside the host, `made` nanoseconds of it compiling a program for these shapes;
// ran → end: callbacks after it, and checkpoints. Before `asked` the observer worked for `looked`
// nanoseconds on the step before, from its end on.
struct StepTimes {
  int64_t epoch = 0, step = 0, samples = 0;
  int64_t asked = 0, ready = 0, run = 0, ran = 0, end = 0;
  int64_t looked = 0, made = 0;
};

// begin → first_step: callbacks, and the feed begins; → last_step: the steps, and waiting for the
// last of them; → read: loss and metrics brought from the device; → validated: validation, where
// there is one; → end: callbacks and checkpoints.
struct EpochTimes {
  int64_t epoch = 0;
  int64_t begin = 0, first_step = 0, last_step = 0, read = 0, validated = 0, end = 0;
};

// What is observed; all of it lives until the fit is over.
struct FitView {
  ModelBase& model;
  const Context& context;
  const FitArgs& args;
  Feed& training;
  const CallbackCalls& callbacks;
};

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Before the first epoch, once nothing refuses the fit any more.
  virtual void fit_began() {}
  virtual void step_ended(const StepTimes& times) = 0;
  virtual void epoch_ended(const EpochTimes& times) = 0;
  // Waits for the device and hears what it tells of the steps so far.
  virtual void catch_up() {}
  // After the last epoch, before callbacks hear of the end.
  virtual void fit_ended() = 0;
  // The last call. `error` is what ended the fit early; empty: it is finished.
  virtual void fit_over(const std::string& /*error*/) {}
  // A few words for the progress bar: "limit: input"; empty while there is nothing to say.
  virtual std::string status() const = 0;
  // What limits the run, one word of the progress bar's; empty while unknown.
  virtual std::string limit() const = 0;
  // What the device waited for in the epoch whose steps have just ended; nothing where that is too
  // little to say. Called once per epoch.
  virtual std::optional<History::Waited> waited() { return std::nullopt; }
  // After fit_ended(): one line on what would make the next fit faster; empty: nothing to say.
  virtual std::string advice() const { return ""; }
  // tune = Auto has not come to an end yet.
  virtual bool is_tuning() const { return false; }
  // Numbers of the epoch so far for logs of any kind, by name; empty while there are too few steps.
  virtual std::vector<std::pair<std::string, double>> scalars() const = 0;
  // The Profiler callback, for callbacks that profile some steps; `who` begins its errors.
  virtual std::unique_ptr<Callback> make_profiler(const std::string& log_dir, StepRange steps,
                                                  const char* who) const = 0;
};

}  // namespace stoker
