#include "observe/profile/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "observe/layer_times.h"
#include "observe/recording.h"
#include "train/model/memory_table.h"
#include "train/model/trainer.h"

namespace stoker {

namespace {

// Shares of the peaks, where these are known. `moves`: of the row's ops.
template <class Row>
void rate_row(Row& row, double seconds, std::span<const Moved> moves, const MachinePeaks& peaks,
              double held) {
  if (peaks.flops <= 0 || seconds <= 0) return;
  row.compute_share = peaks.compute_share(row.flops, seconds);
  row.bandwidth_share = peaks.bandwidth_share(moves, seconds, held);
  row.limit = limit_of_shares(row.compute_share, row.bandwidth_share);
}

void rate_rows(StepProfile& profile, const MachinePeaks& peaks, double held) {
  std::map<std::string, std::vector<Moved>> moves;  // by layer
  for (LayerReport& op : profile.ops) {
    moves[op.layer].push_back(moved_by(op));
    rate_row(op, op.seconds, std::array{moved_by(op)}, peaks, held);
  }
  for (LayerProfile& layer : profile.layers)
    rate_row(layer, layer.seconds(), moves[layer.layer], peaks, held);
}

StepProfile profile_of(const RecordedProgram& program, const MachinePeaks& peaks) {
  StepProfile profile{.kind = program.kind,
                      .batch_size = program.batch_size,
                      .steps = program.runs,
                      .timed_steps = program.timed,
                      .memory = memory_use(program.memory)};
  if (program.timed == 0) return profile;
  std::vector<double> seconds(program.sums.size());
  for (size_t i = 0; i < seconds.size(); ++i)
    seconds[i] = double(program.sums[i]) * 1e-9 / double(program.timed);
  profile.seconds = double(program.timed_ns) * 1e-9 / double(program.timed);
  profile.op_seconds = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  profile.ops = layer_rows(program.kernels, seconds, program.results);
  profile.layers = by_layer(profile.ops);
  rate_rows(profile, peaks, double(program.memory.total));
  return profile;
}

// "pipeline-3" and its like are one group.
std::string group_of(std::string name) {
  size_t digits = name.find_last_not_of("0123456789");
  if (digits != std::string::npos && name[digits] == '-') name.resize(digits);
  return name;
}

std::vector<HostActivity> activities(const Recorded& recorded) {
  std::map<std::pair<std::string, std::string>, HostActivity> sums;
  for (const SpanRecord& span : recorded.spans.spans) {
    if (span.begin < recorded.begin || span.end > recorded.end) continue;
    auto known = recorded.threads.find(span.thread);
    std::string thread = span.thread == recorded.training_thread ? "training"
                         : known == recorded.threads.end()       ? "thread"
                                                                 : group_of(known->second);
    HostActivity& sum = sums[{thread, span.name}];
    sum.thread = thread;
    sum.name = span.name;
    ++sum.count;
    sum.seconds += double(span.end - span.begin) * 1e-9;
  }
  std::vector<HostActivity> list;
  list.reserve(sums.size());
  for (auto& [key, sum] : sums) list.push_back(std::move(sum));
  std::ranges::stable_sort(list, std::greater<>(), &HostActivity::seconds);
  return list;
}

// A kernel that computes faster than the peak raises it.
MachinePeaks raised(MachinePeaks peaks, const Recorded& recorded) {
  if (peaks.flops <= 0) return peaks;
  for (const RecordedProgram& program : recorded.programs)
    for (size_t i = 0; i < program.sums.size() && program.timed > 0; ++i)
      if (double seconds = double(program.sums[i]) * 1e-9 / double(program.timed);
          seconds >= kLongEnough)
        peaks.flops = std::max(peaks.flops, program.kernels[i].cost.flops / seconds);
  return peaks;
}

// Steps of fits. A GPU that is taken apart waits for the host.
std::vector<StepRecord> undisturbed(const Recorded& recorded) {
  std::vector<StepRecord> records = step_records(recorded);
  std::set<int64_t> left_out;
  for (const RecordedStep& step : recorded.steps)
    if (step.alone || (recorded.gpu && step.taken_apart)) left_out.insert(step.times.run);
  std::erase_if(records, [&](const StepRecord& step) { return left_out.contains(step.times.run); });
  return records;
}

}  // namespace

std::vector<LayerProfile> by_layer(const std::vector<LayerReport>& ops) {
  std::map<std::string, LayerProfile> sums;
  for (const LayerReport& op : ops) {
    LayerProfile& sum = sums[op.layer];
    sum.layer = op.layer;
    (op.phase == "forward"    ? sum.forward
     : op.phase == "backward" ? sum.backward
                              : sum.update) += op.seconds;
    sum.flops += op.flops;
    sum.bytes += op.bytes;
    sum.memory += op.memory;
    sum.live = std::max(sum.live, op.live);
  }
  std::vector<LayerProfile> list;
  list.reserve(sums.size());
  for (auto& [layer, sum] : sums) list.push_back(std::move(sum));
  std::ranges::sort(list, std::greater<>(), &LayerProfile::seconds);
  return list;
}

Profile make_profile(const Recorded& recorded, const MachinePeaks& measured) {
  MachinePeaks peaks = raised(measured, recorded);
  Profile profile{.device_name = recorded.device_name,
                  .seconds = double(recorded.end - recorded.begin) * 1e-9,
                  .peak_flops = peaks.flops,
                  .peak_bandwidth = peaks.memory.best(),
                  .host = activities(recorded)};
  Accounting accounting = account_in_parts(undisturbed(recorded));
  profile.fit_steps = accounting.steps;
  profile.shares = accounting.shares();
  if (accounting.steps > 0)
    profile.step_seconds = double(accounting.wall) * 1e-9 / double(accounting.steps);
  profile.steps.reserve(recorded.programs.size());
  for (const RecordedProgram& program : recorded.programs)
    profile.steps.push_back(profile_of(program, peaks));
  std::ranges::stable_sort(profile.steps, [](const StepProfile& a, const StepProfile& b) {
    return a.seconds * double(a.steps) > b.seconds * double(b.steps);
  });
  return profile;
}

}  // namespace stoker
