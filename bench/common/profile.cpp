#include "common/profile.h"

#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/format.h>

#include "common/timing.h"

namespace stoker::bench {

namespace {

std::vector<Samples> time_kernels(Program& program, const std::vector<Tensor>& batch, int steps) {
  constexpr int kWarmUp = 3;
  std::vector<Samples> samples(program.kernels().size());
  std::vector<int64_t> nanoseconds;
  for (int i = 0; i < steps + kWarmUp; ++i) {
    program.run_timed(batch, nanoseconds);
    for (size_t k = 0; i >= kWarmUp && k < samples.size(); ++k)
      samples[k].add(double(nanoseconds[k]) * 1e-9);
  }
  return samples;
}

// All kernels of one op that run alike.
struct OpLoss {
  std::string op, kernel, worst;  // worst: the layer that loses most
  int count = 0;
  double seconds = 0, floor = 0, most = 0;
  double lost() const { return seconds - floor; }
};

// Shapes by op and layer, to say what a slow kernel is given.
std::string shapes_of(const Graph& graph, const KernelInfo& kernel) {
  for (const Node& node : graph.nodes()) {
    if (node.scope != kernel.scope || node.op->name != kernel.op || node.phase != kernel.phase)
      continue;
    std::string text;
    for (int value : node.inputs) text += " " + to_string(graph.spec(value).shape);
    return text + " →" + " " + to_string(graph.spec(node.outputs[0]).shape);
  }
  return "";
}

}  // namespace

void print_profile(Program& program, const std::vector<Tensor>& batch, int steps,
                   std::ostream& out) {
  const std::vector<KernelInfo>& kernels = program.kernels();
  std::vector<Samples> samples = time_kernels(program, batch, steps);
  double median = 0, best = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    double time = samples[k].quantile(0);
    median += samples[k].median();
    best += time;
    out << fmt::format(
        "  {:<34} {:<22} {:9.1f} us median {:9.1f} us best {:7.1f} GFLOP/s {:6.1f} GB/s\n",
        kernels[k].op, kernels[k].kernel, samples[k].median() * 1e6, time * 1e6,
        kernels[k].cost.flops / time * 1e-9, kernels[k].cost.bytes / time * 1e-9);
  }
  out << fmt::format("  {:<57} {:9.1f} us        {:9.1f} us\n", "sum", median * 1e6, best * 1e6);
}

void print_losses(Program& program, const Graph& graph, const std::vector<Tensor>& batch, int steps,
                  const DeviceLimits& limits, std::ostream& out) {
  const std::vector<KernelInfo>& kernels = program.kernels();
  std::vector<Samples> samples = time_kernels(program, batch, steps);
  std::vector<double> floors = floors_of(program, graph, limits);
  std::map<std::pair<std::string, std::string>, OpLoss> by_op;
  for (size_t k = 0; k < kernels.size(); ++k) {
    OpLoss& row = by_op[{kernels[k].op, kernels[k].kernel}];
    double seconds = samples[k].median(), lost = seconds - floors[k];
    row.op = kernels[k].op;
    row.kernel = kernels[k].kernel;
    ++row.count;
    row.seconds += seconds;
    row.floor += floors[k];
    if (row.worst.empty() || lost > row.most) {
      row.most = lost;
      row.worst = fmt::format("{:.1f} us of {:.1f} at {}{}", lost * 1e6, seconds * 1e6,
                              kernels[k].scope, shapes_of(graph, kernels[k]));
    }
  }
  std::vector<OpLoss> rows;
  OpLoss sum{.op = "sum", .kernel = "", .worst = ""};
  for (auto& [key, row] : by_op) {
    sum.count += row.count, sum.seconds += row.seconds, sum.floor += row.floor;
    rows.push_back(row);
  }
  std::ranges::sort(rows, std::greater<>(), &OpLoss::lost);
  rows.push_back(sum);
  for (const OpLoss& row : rows)
    out << fmt::format("  {:<26} {:<20} {:4} x {:9.1f} us, floor {:8.1f} us, {:3.0f} %; most {}\n",
                       row.op, row.kernel, row.count, row.seconds * 1e6, row.floor * 1e6,
                       row.seconds > 0 ? 100 * row.floor / row.seconds : 0.0, row.worst);
}

}  // namespace stoker::bench
