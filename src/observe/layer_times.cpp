#include "observe/layer_times.h"

#include <algorithm>
#include <array>

#include "observe/thresholds.h"
#include "train/step/steps.h"

namespace stoker::doctor {

namespace {

constexpr int kLayerWarmUp = 2;

std::string phase_name(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    default:
      return "update";
  }
}

}  // namespace

Limit limit_of_shares(double compute, double bandwidth) {
  if (bandwidth >= kBusy && compute < kIdle) return Limit::memory;
  if (compute >= kBusy && bandwidth < kIdle) return Limit::compute;
  if (compute < kIdle && bandwidth < kIdle) return Limit::latency;
  return compute >= bandwidth ? Limit::compute : Limit::memory;
}

std::map<OpKey, double> result_bytes(const Graph& graph) {
  std::map<OpKey, double> bytes;
  for (const Node& node : graph.nodes())
    for (int output : node.outputs) {
      const TensorSpec& spec = graph.spec(output);
      bytes[OpKey(node.scope, node.op->name, node.phase)] +=
          double(spec.shape.elements()) * double(size_of(spec.dtype));
    }
  return bytes;
}

std::vector<LayerReport> layer_rows(const std::vector<KernelInfo>& kernels,
                                    std::span<const double> seconds,
                                    const std::map<OpKey, double>& results) {
  std::map<OpKey, LayerReport> rows;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelInfo& kernel = kernels[i];
    LayerReport& row = rows[OpKey(kernel.scope, kernel.op, kernel.phase)];
    row.layer = kernel.scope;
    row.op = kernel.op;
    row.kernel = kernel.kernel;
    row.phase = phase_name(kernel.phase);
    row.seconds += seconds[i];
    row.flops += kernel.cost.flops;
    row.bytes += kernel.cost.bytes;
    row.memory += double(kernel.memory);
    row.live = std::max(row.live, double(kernel.live));
  }
  std::vector<LayerReport> list;
  list.reserve(rows.size());
  for (auto& [key, row] : rows) {
    auto found = results.find(key);  // an engine's own ops are not there
    row.written = std::min(row.bytes, found != results.end() ? found->second : row.memory);
    list.push_back(std::move(row));
  }
  std::ranges::sort(list, std::greater<>(), &LayerReport::seconds);
  return list;
}

std::vector<LayerReport> time_layers(ModelBase& model, std::span<const Tensor> batch, int steps) {
  CachedProgram& cached = program_for(model, training_kind(*model.trainer), batch, "profile");
  Program& program = *cached.program;
  const std::vector<KernelInfo>& kernels = program.kernels();
  std::vector<std::vector<int64_t>> times(kernels.size());
  std::vector<int64_t> nanoseconds;
  for (int step = 0; step < steps + kLayerWarmUp; ++step) {
    program.run_timed(batch, nanoseconds);
    for (size_t i = 0; step >= kLayerWarmUp && i < kernels.size(); ++i)
      times[i].push_back(nanoseconds[i]);
  }
  std::vector<double> seconds(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::ranges::sort(times[i]);
    if (!times[i].empty()) seconds[i] = double(times[i][times[i].size() / 2]) * 1e-9;
  }
  return layer_rows(kernels, seconds, result_bytes(*cached.graph));
}

void rate_layers(std::vector<LayerReport>& layers, const Context& context, double held) {
  for (const LayerReport& row : layers)
    if (row.seconds >= kLongEnough) raise_peak(context, row.flops / row.seconds);
  const MachinePeaks peaks = machine_peaks(context, held);
  for (LayerReport& row : layers) {
    row.compute_share = peaks.compute_share(row.flops, row.seconds);
    row.bandwidth_share = peaks.bandwidth_share(std::array{moved_by(row)}, row.seconds, held);
    row.limit = limit_of_shares(row.compute_share, row.bandwidth_share);
  }
}

void add_layers(DeviceFacts& device, const std::vector<LayerReport>& layers,
                const MachinePeaks& peaks, double held) {
  double all = 0;
  for (const LayerReport& layer : layers) all += layer.seconds;
  device.ops.clear();
  for (const LayerReport& layer : layers) {
    double far = peaks.seconds_of(std::array{moved_by(layer)}, held);
    double at_most = layer.seconds > 0 ? std::min(1.0, far / layer.seconds) : 0;
    device.ops.push_back({.layer = layer.layer,
                          .op = layer.op,
                          .share = all > 0 ? layer.seconds / all : 0,
                          .ns = layer.seconds * 1e9,
                          .compute_share = layer.compute_share,
                          .bandwidth_share = layer.bandwidth_share,
                          .bandwidth_at_most = std::max(at_most, layer.bandwidth_share),
                          .host = layer.op == "host_call" || layer.kernel.starts_with("host:")});
  }
}

namespace {

using RowKey = std::tuple<std::string, std::string, std::string>;

RowKey key_of(const LayerReport& row) { return {row.layer, row.op, row.phase}; }

std::map<RowKey, double> reached_by(const std::vector<LayerReport>& rows) {
  std::map<RowKey, double> reached;
  for (const LayerReport& row : rows)
    reached[key_of(row)] = std::max(row.compute_share, row.bandwidth_share);
  return reached;
}

}  // namespace

void add_doubled(DeviceFacts& device, const std::vector<LayerReport>& layers,
                 const std::vector<LayerReport>& now, const std::vector<LayerReport>& doubled) {
  std::map<RowKey, double> before = reached_by(now), after = reached_by(doubled);
  for (size_t i = 0; i < std::min(layers.size(), device.ops.size()); ++i) {
    auto from = before.find(key_of(layers[i])), to = after.find(key_of(layers[i]));
    if (from == before.end() || to == after.end() || from->second <= 0) continue;
    OpFacts& op = device.ops[i];
    op.reach_doubled = std::max(op.compute_share, op.bandwidth_share) * to->second / from->second;
  }
}

void keep_best(std::vector<LayerReport>& best, const std::vector<LayerReport>& rows) {
  if (best.empty()) best = rows;
  std::map<RowKey, double> seconds;
  for (const LayerReport& row : rows) seconds[key_of(row)] = row.seconds;
  for (LayerReport& row : best)
    if (auto found = seconds.find(key_of(row)); found != seconds.end())
      row.seconds = std::min(row.seconds, found->second);
}

Moved moved_by(const LayerReport& row) {
  return {.bytes = row.bytes, .written = row.written, .in_place = row.phase == "update"};
}

}  // namespace stoker::doctor
