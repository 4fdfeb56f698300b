// The profiler: what every layer and op of some steps took, and a trace of who did what when.
//
//   profiler::start("logs");                       // as tf.profiler.experimental.start
//   model.fit(train, {.epochs = 1});
//   std::cout << profiler::stop().text();          // writes into logs
//
//   model.fit(train, {.callbacks = {Profiler({.log_dir = "logs", .steps = {10, 20}})}});
//
// Written into log_dir:
//   profile.json                                   every number of Profile
//   trace.json                                     for ui.perfetto.dev and chrome://tracing
//   plugins/profile/TIME/HOST.xplane.pb            for TensorBoard's Profile page
//
// Profiling does not change a bit of the results. When it is off, a step costs one check of a flag.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/callbacks.h>
#include <stoker/doctor.h>
#include <stoker/model.h>

namespace stoker {

struct ProfileOptions {
  // On a GPU only these first steps are recorded kernel by kernel. Later ones are replayed as a whole
  // and show how steps follow each other undisturbed. On a CPU every step is recorded op by op.
  int64_t op_steps = 20;
  int64_t max_events = 100'000;  // of the trace, the latest; the tables count all
};

// A layer in one step of its kind, all its ops together.
struct LayerProfile {
  std::string layer = {};
  double forward = 0, backward = 0, update = 0;   // seconds
  double flops = 0, bytes = 0;                    // computed; read and written
  double memory = 0;                              // bytes for its results and workspace
  double live = 0;                                // bytes held while its ops run, at most
  double compute_share = 0, bandwidth_share = 0;  // of what the machine reaches
  doctor::Limit limit = doctor::Limit::none;

  double seconds() const { return forward + backward + update; }
};

// One kind of step; all numbers are of one step, on average.
struct StepProfile {
  // "train", "accumulate", "test", "predict"; "part" of a batch (FitArgs::on_out_of_memory); or the
  // name of a function().
  std::string kind = {};
  int64_t batch_size = 0;
  int64_t steps = 0, timed_steps = 0;  // timed: taken apart
  double seconds = 0;                  // of a timed step, from the call to its end
  double op_seconds = 0;               // the ops among them: the sum of `ops`, and of `layers`
  std::vector<doctor::LayerReport> ops = {};  // the longest first
  std::vector<LayerProfile> layers = {};
  MemoryUse memory = {};
};

// What threads said they did, summed over the profile.
struct HostActivity {
  std::string thread = {}, name = {};  // "pipeline", "map(\"decode\")"
  int64_t count = 0;
  double seconds = 0;
};

struct Profile {
  std::string device_name = {}, machine = {};
  double seconds = 0;       // from start to stop
  int64_t fit_steps = 0;    // whole steps of a fit in between; a GPU's that were not taken apart
  double step_seconds = 0;  // of these, the wait for a batch and callbacks included
  doctor::StepShares shares = {};             // of their time
  double peak_flops = 0, peak_bandwidth = 0;  // a second, measured; 0: not measured
  std::vector<StepProfile> steps = {};        // the kind that took longest first
  std::vector<HostActivity> host = {};
  int64_t events = 0, events_dropped = 0;  // of the trace
  std::vector<std::string> files = {};     // written

  std::string text() const;
  std::string json() const;
};

namespace profiler {

// Everything that runs in this process from now on: every model, every pipeline. Error when a
// profile is being taken already; FileError when the folder cannot be written.
void start(const std::string& log_dir, const ProfileOptions& options = {});
// Ends the profile, writes the files and returns it. Error without a start(); FileError when a file
// could not be written; the profile has ended all the same.
Profile stop();

// Names what runs for tools from outside, such as Nsight Systems (nsys profile --trace=cuda,nvtx):
// NVTX ranges for epochs, steps, functions, waiting for a batch, callbacks, validation, checkpoints
// and the work of the pipeline's threads, in the domain "stoker". With or without a profile. Off
// by default, when a range costs one test of a flag. Error where Stoker was built without CUDA.
void emit_ranges(bool on = true);

}  // namespace profiler

struct ProfilerOptions {
  std::string log_dir = "logs";
  StepRange steps = {10, 20};
  int64_t max_events = 100'000;
  int verbose = 1;  // 1: a line to Context::out when the files are written
};
// Profiles some steps of a fit, as TensorBoard's profile_batch does.
class Profiler : public Callback {
 public:
  explicit Profiler(ProfilerOptions options = {});  // ValueError for steps that cannot be
  ~Profiler() override;
  Profiler(Profiler&&) noexcept;
  Profiler& operator=(Profiler&&) noexcept;
  void on_train_begin() override;  // ValueError when the fit ends before the first of the steps
  void on_train_end(const Logs& logs) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_batch_begin(int64_t batch) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  bool on_non_finite(const NonFiniteError& error) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

  // What was seen; nothing before the steps are over.
  const std::optional<Profile>& profile() const;

 protected:
  Profiler(ProfilerOptions options, const char* who);  // `who` begins its errors

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stoker
