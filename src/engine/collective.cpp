#include "engine/collective.h"

#include <array>

#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/replica.h"

namespace stoker {

namespace {

constexpr std::array<std::string_view, 3> kWires = {"float32", "bfloat16", "int64"};

}  // namespace

std::string_view name(Wire wire) { return kWires.at(size_t(wire)); }

Wire wire_from_name(std::string_view name) {
  for (size_t i = 0; i < kWires.size(); ++i)
    if (kWires[i] == name) return Wire(i);
  throw ValueError(
      fmt::format("unknown wire format \"{}\"; there are float32, bfloat16, int64", name));
}

std::shared_ptr<Communicator> communicator_of(const Attrs& attrs) {
  auto ranks = attrs.get<int64_t>("ranks");
  std::shared_ptr<Communicator> found;
  if (attrs.has("group")) {
    const auto& link = attrs.get<std::shared_ptr<const HostFunction>>("group");
    found = static_cast<const CommunicatorLink&>(*link).communicator;
  }
  int64_t size = found != nullptr ? found->size() : 1;
  if (size != ranks)
    throw Error(fmt::format(
        "a step that sums over {} replicas was compiled for {}; compile the model inside the scope "
        "of the strategy that runs it",
        ranks, size));
  return found;
}

AloneReplica::AloneReplica(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (is_collective(node))
      if (std::shared_ptr<Communicator> found = communicator_of(node.attrs)) {
        found->set_alone(true);
        communicators_.push_back(std::move(found));
      }
}

AloneReplica::AloneReplica(std::vector<std::shared_ptr<Communicator>> communicators)
    : communicators_(std::move(communicators)) {
  for (const auto& communicator : communicators_) communicator->set_alone(true);
}

AloneReplica::~AloneReplica() {
  for (const auto& communicator : communicators_) communicator->set_alone(false);
}

void Communicator::sum_on(void*, std::span<const DeviceSum>) {
  throw Error("this communicator sums in host memory only");
}

}  // namespace stoker
