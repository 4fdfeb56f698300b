// A Profile for people, and as JSON.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/profiler.h>
#include <nlohmann/json.hpp>

#include "observe/report_json.h"
#include "observe/words.h"
#include "train/model/memory_table.h"

namespace stoker {

using namespace doctor;  // its words and tables

namespace {

constexpr size_t kMostRows = 20;

std::string time_of(double seconds) { return seconds > 0 ? duration(seconds).text() : "-"; }

std::string rate_text(double amount, double seconds, const char* unit) {
  return seconds > 0 ? fmt::format("{:.1f} {}", amount / seconds * 1e-9, unit) : "-";
}

// The share of the limit that is nearer, and which one that is.
template <class Row>
std::string limit_text(const Row& row) {
  if (row.compute_share == 0 && row.bandwidth_share == 0) return "-";
  bool compute = row.compute_share >= row.bandwidth_share;
  return fmt::format("{} of {}", percent(compute ? row.compute_share : row.bandwidth_share),
                     compute ? "compute" : "memory");
}

std::string layer_name(const std::string& layer) { return layer.empty() ? "(the step)" : layer; }

size_t width_of(const StepProfile& step) {
  size_t width = 12;
  for (const LayerReport& op : step.ops)
    width = std::max(width, layer_name(op.layer).size() + op.op.size() + 1);
  return std::min<size_t>(width, 40);
}

std::string more_rows(size_t rows) {
  return rows > kMostRows ? fmt::format("  … and {} more\n", rows - kMostRows) : "";
}

std::string layers_of_step(const StepProfile& step) {
  size_t width = width_of(step);
  std::string text =
      fmt::format("\n  {:<{}} {:>10} {:>10} {:>10} {:>7} {:>14} {:>12} {:>10} {:>10}  {}\n",
                  "Layer", width, "forward", "backward", "update", "share", "computed", "moved",
                  "memory", "live", "of the limit");
  for (size_t i = 0; i < std::min(kMostRows, step.layers.size()); ++i) {
    const LayerProfile& row = step.layers[i];
    text += fmt::format("  {:<{}} {:>10} {:>10} {:>10} {:>7} {:>14} {:>12} {:>10} {:>10}  {}\n",
                        layer_name(row.layer), width, time_of(row.forward), time_of(row.backward),
                        time_of(row.update), percent(row.seconds() / step.op_seconds),
                        rate_text(row.flops, row.seconds(), "GFLOP/s"),
                        rate_text(row.bytes, row.seconds(), "GB/s"), human_bytes(row.memory),
                        human_bytes(row.live), limit_text(row));
  }
  return text + more_rows(step.layers.size());
}

std::string ops_of_step(const StepProfile& step) {
  size_t width = width_of(step);
  std::string text =
      fmt::format("\n  {:<{}} {:<10} {:>10} {:>7} {:>14} {:>12} {:>10} {:>10}  {:<16} {}\n", "Op",
                  width, "direction", "time", "share", "computed", "moved", "memory", "live",
                  "of the limit", "kernel");
  for (size_t i = 0; i < std::min(kMostRows, step.ops.size()); ++i) {
    const LayerReport& row = step.ops[i];
    text += fmt::format("  {:<{}} {:<10} {:>10} {:>7} {:>14} {:>12} {:>10} {:>10}  {:<16} {}\n",
                        fmt::format("{}/{}", layer_name(row.layer), row.op), width, row.phase,
                        time_of(row.seconds), percent(row.seconds / step.op_seconds),
                        rate_text(row.flops, row.seconds, "GFLOP/s"),
                        rate_text(row.bytes, row.seconds, "GB/s"), human_bytes(row.memory),
                        human_bytes(row.live), limit_text(row), row.kernel);
  }
  return text + more_rows(step.ops.size());
}

std::string text_of(const StepProfile& step) {
  std::string text = fmt::format("\nStep \"{}\", batch {}: {} steps, {} taken apart", step.kind,
                                 step.batch_size, step.steps, step.timed_steps);
  if (step.timed_steps == 0) return text + "\n";
  text += fmt::format("; {} each, {} of it in ops; memory {}", duration(step.seconds),
                      duration(step.op_seconds), human_bytes(double(step.memory.total)));
  auto [emptiest, fullest] = std::ranges::minmax_element(step.ops, {}, &LayerReport::live);
  if (fullest != step.ops.end() && fullest->live > emptiest->live)
    text += fmt::format(", most of it in {}/{} ({})", layer_name(fullest->layer), fullest->op,
                        fullest->phase);
  text += above_peak(step.ops) + "\n";
  return text + layers_of_step(step) + ops_of_step(step);
}

std::string shares_line(const Profile& profile) {
  if (profile.fit_steps == 0) return "";
  std::string text = fmt::format("A step of fit takes {}:", duration(profile.step_seconds));
  for (size_t i = 0; i < kOwners; ++i)
    if (profile.shares.share[i] >= 0.001)
      text += fmt::format(" {} {}", name(Owner(i)), percent(profile.shares.share[i]));
  return text + "\n";
}

std::string host_table(const std::vector<HostActivity>& host) {
  if (host.empty()) return "";
  std::string text = fmt::format("\n  {:<16} {:<32} {:>8} {:>10} {:>10}\n", "Thread", "did",
                                 "times", "in all", "each");
  for (size_t i = 0; i < std::min(kMostRows, host.size()); ++i)
    text += fmt::format("  {:<16} {:<32} {:>8} {:>10} {:>10}\n", host[i].thread, host[i].name,
                        host[i].count, duration(host[i].seconds),
                        duration(host[i].seconds / double(host[i].count)));
  return text + more_rows(host.size());
}

nlohmann::json to_json(const LayerProfile& layer) {
  return {{"layer", layer.layer},
          {"forward_seconds", layer.forward},
          {"backward_seconds", layer.backward},
          {"update_seconds", layer.update},
          {"flops", layer.flops},
          {"bytes", layer.bytes},
          {"memory", layer.memory},
          {"live", layer.live},
          {"compute_share", layer.compute_share},
          {"bandwidth_share", layer.bandwidth_share},
          {"limit", name(layer.limit)}};
}

nlohmann::json to_json(const StepProfile& step) {
  nlohmann::json layers = nlohmann::json::array(), ops = nlohmann::json::array();
  for (const LayerProfile& layer : step.layers) layers.push_back(to_json(layer));
  for (const LayerReport& op : step.ops) ops.push_back(doctor::to_json(op));
  return {{"kind", step.kind},
          {"batch_size", step.batch_size},
          {"steps", step.steps},
          {"timed_steps", step.timed_steps},
          {"seconds", step.seconds},
          {"op_seconds", step.op_seconds},
          {"layers", layers},
          {"ops", ops},
          {"memory", doctor::to_json(step.memory)}};
}

}  // namespace

std::string Profile::text() const {
  std::string text = fmt::format("Profile of {} on {}\n", duration(seconds),
                                 device_name.empty() ? machine : device_name);
  text += shares_line(*this);
  if (steps.empty()) text += "No step ran.\n";
  for (const StepProfile& step : steps) text += text_of(step);
  text += host_table(host);
  text += fmt::format("\nTrace: {} events", events);
  if (events_dropped > 0)
    text += fmt::format("; {} earlier ones were dropped (max_events)", events_dropped);
  text += "\n";
  for (const std::string& file : files) text += "  " + file + "\n";
  return text;
}

std::string Profile::json() const {
  nlohmann::json kinds = nlohmann::json::array(), threads = nlohmann::json::array();
  for (const StepProfile& step : steps) kinds.push_back(to_json(step));
  for (const HostActivity& each : host)
    threads.push_back({{"thread", each.thread},
                       {"name", each.name},
                       {"count", each.count},
                       {"seconds", each.seconds}});
  nlohmann::json object{{"profile", 1},
                        {"device", device_name},
                        {"machine", machine},
                        {"seconds", seconds},
                        {"fit_steps", fit_steps},
                        {"step_seconds", step_seconds},
                        {"shares", doctor::to_json(shares)},
                        {"peak_flops", peak_flops},
                        {"peak_bandwidth", peak_bandwidth},
                        {"steps", kinds},
                        {"host", threads},
                        {"trace_events", events},
                        {"trace_events_dropped", events_dropped}};
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace stoker
