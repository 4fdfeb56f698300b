// A profile that is being taken: runs the steps, takes them apart, keeps the latest of what it
// sees. From any thread.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

#include <stoker/profiler.h>

#include "base/tracing.h"
#include "observe/profile/recorded.h"
#include "train/step/step_tap.h"

namespace stoker {

class ProfileSession final : public StepTap {
 public:
  ProfileSession(std::string log_dir, const ProfileOptions& options);

  const std::string& log_dir() const { return log_dir_; }

  RunStatus run(const StepCall& call) override;
  // A step of a fit that has ended (`number`: of the fit, from 0), and what the device reported of an
  // earlier one.
  void add(int64_t number, const StepTimes& times);
  void add(const DeviceStep& step);

  const std::shared_ptr<Trace>& trace() const { return trace_; }
  // What was seen until now; nothing is taken afterwards.
  Recorded finish();
  // Where the steps ran: device, threads, policy. Null: there were none.
  const Context* context() const { return context_.get(); }

 private:
  size_t program_of(const StepCall& call);
  void keep(TimedRun run);
  void keep(RecordedStep step);
  void keep(const DeviceStep& step);
  void keep_device_steps(Program& program);

  const std::string log_dir_;
  const ProfileOptions options_;
  const size_t room_;  // for events of timed runs
  std::shared_ptr<Trace> trace_;
  std::mutex mutex_;  // of all that follows
  Recorded recorded_;
  std::map<std::tuple<const Program*, const KernelInfo*, size_t>, size_t> known_;  // programs
  std::unique_ptr<Context> context_;
  size_t kept_ = 0;  // events of timed runs
  int64_t taken_apart_ = 0;
  int64_t alone_ = 0;  // steps of own loops so far
  bool over_ = false;
};

// The one that profiler::start began, if it has not ended.
inline Hook<ProfileSession>& active_session() {
  static constinit Hook<ProfileSession> hook;
  return hook;
}

}  // namespace stoker
