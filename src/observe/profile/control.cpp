#include "observe/profile/control.h"

#include <ctime>

#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "base/file.h"
#include "base/tracing.h"
#include "engine/cuda/nvtx.h"
#include "observe/observed.h"
#include "observe/profile/report.h"
#include "observe/profile/trace_files.h"
#include "train/callbacks/event_log.h"

namespace stoker {

namespace {

namespace fs = std::filesystem;

std::mutex& control_mutex() {
  static std::mutex mutex;
  return mutex;
}

void check_writable(const std::string& folder) {
  FileSystem& files = local_files();
  files.create_directories(folder);
  std::string probe = (fs::path(folder) / fmt::format("profile{}", kTemporarySuffix)).string();
  files.create(probe, FileSystem::Write::replace);
  files.remove(probe);
}

std::string time_name(double since_1970) {
  auto seconds = time_t(since_1970);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  strftime(text.data(), text.size(), "%Y_%m_%d_%H_%M_%S", &local);
  return text.data();
}

// A folder for this profile alone: the page lists them by name.
std::string new_run_folder(const std::string& log_dir, double since_1970) {
  fs::path runs = fs::path(log_dir) / "plugins" / "profile";
  std::string name = time_name(since_1970), folder = (runs / name).string();
  for (int number = 2; local_files().exists(folder); ++number)
    folder = (runs / fmt::format("{}_{}", name, number)).string();
  local_files().create_directories(folder);
  return folder;
}

bool has_peaks(const Context& context) { return !traits_of(context).oracle; }

// Where no memory is left to measure with, shares are not known.
MachinePeaks peaks_of(const Context* context) {
  try {
    if (context != nullptr && has_peaks(*context)) return machine_peaks(*context);
  } catch (const Error&) {
    return {};
  }
  return {};
}

std::string device_name_of(const Context* context) {
  return context == nullptr ? "" : device_name(engine_of(*context), *context);
}

void unhook(const std::shared_ptr<ProfileSession>& session) {
  if (active_session().get() != session) return;
  active_step_tap().set(nullptr);
  active_trace().set(nullptr);
  active_session().set(nullptr);
}

Profile write_all(const ProfileSession& session, Recorded& recorded) {
  recorded.device_name = device_name_of(session.context());
  Profile profile = make_profile(recorded, peaks_of(session.context()));
  profile.machine = machine_name();
  Timeline timeline = make_timeline(recorded);
  profile.events = timeline.events;
  profile.events_dropped = timeline.dropped;
  const fs::path log_dir = session.log_dir();
  fs::path run = new_run_folder(session.log_dir(), recorded.since_1970);
  std::string host = host_name();
  auto write = [&](const fs::path& path, const std::string& text) {
    write_file_atomically(path.string(), text);
    profile.files.push_back(path.string());
  };
  write(run / (host + ".xplane.pb"), xspace(timeline, recorded, host));
  write(log_dir / "trace.json", chrome_trace(timeline, recorded));
  write(log_dir / "profile.json", profile.json());
  return profile;
}

}  // namespace

std::shared_ptr<ProfileSession> begin_profile(const std::string& log_dir,
                                              const ProfileOptions& options,
                                              const std::string& who) {
  constexpr int64_t kLeastEvents = 100;
  if (options.max_events < kLeastEvents || options.op_steps < 0)
    throw ValueError(fmt::format("{}: max_events is {} and op_steps {}, expected at least {} and 0",
                                 who, options.max_events, options.op_steps, kLeastEvents));
  std::lock_guard lock(control_mutex());
  if (std::shared_ptr<ProfileSession> running = active_session().get())
    throw Error(fmt::format(
        "{}: a profile is being taken already, for \"{}\"; end it first with profiler::stop()", who,
        running->log_dir()));
  check_writable(log_dir);
  auto session = std::make_shared<ProfileSession>(log_dir, options);
  active_session().set(session);
  active_trace().set(session->trace());
  active_step_tap().set(session);
  return session;
}

Profile end_profile(const std::shared_ptr<ProfileSession>& session, const std::string& who) {
  std::shared_ptr<ProfileSession> running;
  {
    std::lock_guard lock(control_mutex());
    running = active_session().get();
    if (running == nullptr || (session != nullptr && session != running))
      throw Error(who + ": no profile is being taken; profiler::start(log_dir) begins one");
    unhook(running);
  }
  Recorded recorded = running->finish();
  return write_all(*running, recorded);
}

void drop_profile(const std::shared_ptr<ProfileSession>& session) {
  std::lock_guard lock(control_mutex());
  if (session != nullptr) unhook(session);
}

namespace profiler {

void start(const std::string& log_dir, const ProfileOptions& options) {
  begin_profile(log_dir, options, "profiler::start");
}

Profile stop() { return end_profile(nullptr, "profiler::stop"); }

void emit_ranges(bool on) {
  std::shared_ptr<RangeSink> ranges = on ? nvtx_ranges() : nullptr;
  if (on && ranges == nullptr)
    throw Error(
        "profiler::emit_ranges: NVTX ranges come with the GPU engine, which this build of Stoker "
        "does not have (configure with STOKER_CUDA=ON); profiler::start() writes traces without "
        "it");
  active_ranges().set(std::move(ranges));
}

}  // namespace profiler

}  // namespace stoker
