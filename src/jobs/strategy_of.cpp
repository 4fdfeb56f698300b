#include "jobs/strategy_of.h"

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <stoker/error.h>
#include <nlohmann/json.hpp>

#include "distribute/mpi/mpi_transport.h"
#include "engine/registry.h"

namespace stoker::jobs {

namespace {

constexpr int64_t kMostDevices = 1024;

// 0: the text is no number from 1 on.
int64_t count_in(std::string_view text) {
  int64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && count >= 1 && count <= kMostDevices ? count : 0;
}

std::vector<std::string> numbered(std::string_view kind, int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}:{}", kind, i));
  return names;
}

// The kind that "auto" prefers, where there is a device of it; else the CPU, which comes first.
std::string_view usual_kind() {
  std::vector<DeviceFamily*> families = device_families();
  for (DeviceFamily* family : families)
    if (family->traits().preferred && family->count() > 0) return family->traits().name;
  return families.front()->traits().name;
}

}  // namespace

std::vector<std::string> devices_of(const std::string& text) {
  if (text == "all") return {};
  if (int64_t count = count_in(text)) return numbered(usual_kind(), count);
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin || begin < text.size() || names.empty())
      names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  size_t colon = text.find(':');
  if (text.find(',') == std::string::npos && colon != std::string::npos)
    if (int64_t count = count_in(std::string_view(text).substr(colon + 1)))
      return numbered(text.substr(0, colon), count);
  for (const std::string& name : names)
    if (name.empty() || name == "all")
      throw OptionError(fmt::format(
          "devices: expected all, a number, cpu:N, cuda:N or names with commas between them, got "
          "\"{}\"",
          text));
  return names;
}

std::unique_ptr<Strategy> strategy_of(const Job& job) {
  CommunicationOptions communication{.timeout_seconds = job.timeout,
                                     .deterministic_shards = job.deterministic_shards};
  if (distribute::found_launch().processes > 1) {
    MultiWorkerOptions options{.communication = communication,
                               .shard_optimizer = job.shard_optimizer};
    if (!job.devices.empty()) options.devices = devices_of(job.devices);
    return std::make_unique<MultiWorkerMirroredStrategy>(options);
  }
  if (job.devices.empty() && job.deterministic_shards == 0) return nullptr;
  MirroredOptions options{
      .devices = {"cpu"}, .communication = communication, .shard_optimizer = job.shard_optimizer};
  if (!job.devices.empty()) options.devices = devices_of(job.devices);
  return std::make_unique<MirroredStrategy>(options);
}

void share_choices(Job& job) {
  if (distribute::found_launch().processes < 2) return;
  distribute::Transport& transport =
      distribute::mpi_transport(std::chrono::milliseconds(int64_t(1000 * job.timeout)));
  std::string text = to_json(job).dump();
  auto size = uint64_t(text.size());
  transport.broadcast(&size, sizeof(size), 0);
  text.resize(size);
  transport.broadcast(text.data(), text.size(), 0);
  job = parse_job_json(text);
}

bool speaks() {
  const distribute::Transport* transport = distribute::current_transport();
  return transport != nullptr ? transport->speaks() : process_number() == 0;
}

int64_t process_number() {
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"})
    if (const char* text = std::getenv(name)) return std::strtol(text, nullptr, 10);
  return 0;
}

}  // namespace stoker::jobs
