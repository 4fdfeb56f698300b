#include <stoker/distribute.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <stoker/devices.h>
#include <stoker/error.h>

#include "distribute/mpi/mpi_transport.h"
#include "distribute/nccl/nccl_group.h"
#include "distribute/replicated.h"
#include "distribute/strategy_impl.h"
#include "engine/registry.h"

namespace stoker {

struct Strategy::Scope::Impl {
  explicit Impl(const std::shared_ptr<Strategy::Impl>& strategy)
      : scope([strategy]() -> std::shared_ptr<Distribution> {
          return std::make_shared<distribute::Replicated>(strategy->plan);
        }) {}
  DistributionScope scope;
};

Strategy::Scope::Scope(const Strategy& strategy) : impl_(std::make_unique<Impl>(strategy.impl_)) {}
Strategy::Scope::~Scope() = default;

int64_t Strategy::num_replicas_in_sync() const { return impl_->plan->group->ranks(); }
const std::vector<std::string>& Strategy::devices() const { return impl_->names; }

namespace distribute {

namespace {

// Logical devices of a kind that is not numbered: "cpu:1" is part of "cpu".
std::string engine_of_device(const std::string& device) {
  size_t colon = device.find(':');
  std::string kind = device.substr(0, colon);
  for (const DeviceFamily* family : device_families())
    if (family->traits().name == kind && !family->traits().numbered && colon != std::string::npos) {
      std::string number = device.substr(colon + 1);
      bool digits = !number.empty() &&
                    std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
      if (!digits)
        throw ValueError(
            fmt::format("a strategy: expected a number behind \"{}:\", got \"{}\"", kind, device));
      return kind;
    }
  return find_device(device).name();
}

std::vector<std::string> all_devices() {
  std::vector<std::string> names;
  for (const DeviceFamily* family : preferred_families())
    for (int i = 0; i < family->count(); ++i)
      names.push_back(fmt::format("{}:{}", family->traits().name, i));
  if (names.empty()) names.emplace_back("cpu");
  return names;
}

// NCCL's where every replica has a GPU of its own, else those that sum in host memory.
std::vector<std::shared_ptr<Communicator>> communicators_of(const ReplicaPlan& plan) {
  std::vector<std::string> buses;
  std::vector<std::shared_ptr<Communicator>> found;
  if (find_device(plan.devices[0]).traits().beside_host && plan.group->ranks() > 1) {
    for (const std::string& device : plan.devices) buses.push_back(backend(device).bus_id());
    found = nccl_communicators(buses, plan.transport);
  }
  if (found.empty())
    for (int replica = 0; replica < plan.group->replicas(); ++replica)
      found.push_back(plan.group->communicator(replica));
  return found;
}

// How many replicas each device runs.
int64_t shards_per_device(size_t devices, const CommunicationOptions& options,
                          const Transport* transport) {
  if (options.deterministic_shards == 0) return 1;
  int64_t all = int64_t(devices) * (transport != nullptr ? transport->processes() : 1);
  if (options.deterministic_shards % all != 0)
    throw ValueError(
        fmt::format("a strategy: deterministic_shards is {}, expected a multiple of the {} devices",
                    options.deterministic_shards, all));
  return options.deterministic_shards / all;
}

}  // namespace

void check(const CommunicationOptions& options) {
  if (options.wire != "float32" && options.wire != "bfloat16")
    throw ValueError(
        fmt::format("a strategy: wire is \"{}\", expected float32 or bfloat16", options.wire));
  if (options.bucket_bytes < 1)
    throw ValueError(
        fmt::format("a strategy: bucket_bytes is {}, expected at least 1", options.bucket_bytes));
  if (!(options.timeout_seconds > 0 && options.timeout_seconds <= 1e9))
    throw ValueError(
        fmt::format("a strategy: timeout_seconds is {}, expected more than 0 and at most 1e9",
                    options.timeout_seconds));
  if (options.deterministic_shards < 0 || options.shard_threads < 1)
    throw ValueError(fmt::format(
        "a strategy: deterministic_shards is {} and shard_threads {}, expected 0 or more and 1 or "
        "more",
        options.deterministic_shards, options.shard_threads));
}

std::shared_ptr<ReplicaPlan> make_plan(const std::vector<std::string>& devices,
                                       const CommunicationOptions& options, Transport* transport) {
  check(options);
  auto plan = std::make_shared<ReplicaPlan>();
  int64_t shards = shards_per_device(devices.size(), options, transport);
  std::set<std::string> seen;
  for (const std::string& device : devices) {
    if (!seen.insert(device).second)
      throw ValueError(fmt::format(
          "a strategy: device \"{}\" is listed twice; a device runs one replica", device));
    plan->devices.insert(plan->devices.end(), size_t(shards), engine_of_device(device));
  }
  if (options.deterministic_shards > 0) {
    plan->threads = options.shard_threads;
    if (find_device(plan->devices[0]).traits().beside_host)
      throw ValueError("a strategy: deterministic_shards is for CPUs");
  }
  plan->wire = options.wire;
  plan->bucket_bytes = options.bucket_bytes;
  plan->transport = transport;
  plan->group = std::make_shared<ReplicaGroup>(ReplicaGroup::Options{
      .replicas = int(plan->devices.size()),
      .transport = transport,
      .deadline = std::chrono::milliseconds(int64_t(options.timeout_seconds * 1000))});
  plan->communicators = communicators_of(*plan);
  return plan;
}

}  // namespace distribute

namespace {

// Null where no launcher started the process.
distribute::Transport* transport_of(const CommunicationOptions& options) {
  distribute::check(options);
  if (distribute::launch_of_workers().launcher.empty()) return nullptr;
  auto deadline = std::chrono::milliseconds(int64_t(options.timeout_seconds * 1000));
  return &distribute::mpi_transport(deadline);
}

std::vector<std::string> own_devices(const std::vector<std::string>& devices,
                                     const distribute::Transport* transport) {
  if (!devices.empty()) return devices;
  int local = transport != nullptr ? transport->local_process() : 0;
  for (const DeviceFamily* family : preferred_families())
    if (family->count() > 0)
      return {fmt::format("{}:{}", family->traits().name, local % family->count())};
  return {"cpu"};
}

std::vector<std::string> devices_or_all(const std::vector<std::string>& devices) {
  return devices.empty() ? distribute::all_devices() : devices;
}

}  // namespace

MirroredStrategy::MirroredStrategy(const MirroredOptions& options)
    : Strategy(std::make_shared<Impl>(
          Impl{.names = devices_or_all(options.devices),
               .plan = distribute::make_plan(devices_or_all(options.devices), options.communication,
                                             nullptr)})) {
  impl().plan->shard_optimizer = options.shard_optimizer;
}

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(const MultiWorkerOptions& options)
    : Strategy([&] {
        auto impl = std::make_shared<Impl>();
        distribute::Transport* transport = transport_of(options.communication);
        impl->names = own_devices(options.devices, transport);
        impl->plan = distribute::make_plan(impl->names, options.communication, transport);
        impl->plan->shard_optimizer = options.shard_optimizer;
        Context& context = options.context != nullptr ? *options.context : default_context();
        if (transport != nullptr && transport->process() > 0) context.out = nullptr;
        return impl;
      }()) {}

int64_t MultiWorkerMirroredStrategy::worker() const {
  const distribute::Transport* transport = impl().plan->transport;
  return transport != nullptr ? transport->process() : 0;
}

int64_t MultiWorkerMirroredStrategy::num_workers() const {
  const distribute::Transport* transport = impl().plan->transport;
  return transport != nullptr ? transport->processes() : 1;
}

}  // namespace stoker
