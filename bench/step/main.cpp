// bench_step: a training step on the CPU, beside libtorch and beside what the machine allows.
#include <cstdio>
#include <iostream>

#include <fmt/format.h>

#include "common/options.h"
#include "common/profile.h"
#include "common/report.h"
#include "engine/cpu/openmp.h"
#include "step/allocations.h"
#include "step/peers.h"
#include "step/start_up.h"

namespace stoker::bench {

namespace {

constexpr int kThreads = 2;
constexpr int kBlock = 5;

struct Case {
  std::string name;
  TorchCase which;
  int64_t batch;
  std::optional<double> torch_bar, floor_bar;
  double seconds;  // share of the minute
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"CNN 64/128, batch 128", {false, 64, 128}, 128, 1.8, 60, 14},
      {"CNN 64/128, batch 32", {false, 64, 128}, 32, 1.6, 50, 9},
      {"CNN 32/64, batch 32", {false, 32, 64}, 32, 1.8, {}, 6},
      {"conv-BN-ReLU tower 64, 32x32, batch 32", {true, 64, 64}, 32, 1.3, {}, 14},
  };
  return all;
}

std::unique_ptr<TrainingStep> make_step(const Case& one) {
  return one.which.tower
             ? TrainingStep::tower(one.batch, kThreads)
             : TrainingStep::cnn(one.which.first, one.which.second, one.batch, kThreads);
}

void measure_case(const Case& one, double scale, MatmulPeak& peak, Report& report) {
  std::unique_ptr<TrainingStep> step = make_step(one);
  std::vector<Contender> contenders = {{"stoker", [&] { step->run(); }},
                                       {"matmul", [&] { peak.run(); }}};
  for (Contender& peer : torch_contenders(*step, one.which, kThreads))
    contenders.push_back(std::move(peer));
  std::vector<Samples> samples =
      take_turns(contenders, {.block = kBlock, .seconds = one.seconds * scale});
  const Samples &own = samples[0], &matmul = samples[1];

  std::vector<Peer> peers;
  std::optional<double> ratio;
  for (size_t i = 2; i < samples.size(); ++i) {
    peers.push_back({contenders[i].name, samples[i].median() * 1e3, "ms"});
    // The better of libtorch's two layouts counts.
    double against = paired_ratio(samples[i], own, kBlock);
    ratio = ratio ? std::min(*ratio, against) : against;
  }
  if (ratio)
    report.add({.name = one.name + ": libtorch / stoker",
                .value = *ratio,
                .unit = "x",
                .bar = one.torch_bar,
                .peers = peers,
                .note = own.text()});
  // The floor: the step's products at the rate of the matmul that ran beside it.
  double products = step->flops(), share = products / MatmulPeak::kFlops;
  report.add({.name = one.name + ": floor / stoker",
              .value = 100 * share * paired_ratio(matmul, own, kBlock),
              .unit = "%",
              .bar = one.floor_bar,
              .limit = 100,
              .note = fmt::format("floor {:.2f} ms = {:.0f} MFLOP at {:.0f} GFLOP/s",
                                  share * matmul.median() * 1e3, products * 1e-6,
                                  MatmulPeak::kFlops / matmul.median() * 1e-9)});
}

// What run() does beside running kernels: a timed run less the times of its kernels.
void measure_host_cost(Report& report) {
  auto step = TrainingStep::cnn(32, 64, 32, kThreads);
  std::vector<int64_t> nanoseconds;
  Samples outside;
  for (int i = 0; i < 220; ++i) {
    double before = now();
    step->program().run_timed(step->batch().tensors(), nanoseconds);
    double wall = now() - before;
    for (int64_t kernel : nanoseconds) wall -= double(kernel) * 1e-9;
    if (i >= 20) outside.add(wall);
  }
  report.add({.name = "host cost per step outside kernels",
              .value = outside.median() * 1e6,
              .unit = "us",
              .better = Better::lower,
              .bar = 20,
              .note = fmt::format("{} kernels; 90 % below {:.1f} us", nanoseconds.size(),
                                  outside.quantile(0.9) * 1e6)});
}

void measure_allocations(Report& report) {
  constexpr int kSteps = 10;
  auto step = TrainingStep::cnn(32, 64, 32, kThreads);
  for (int i = 0; i < 3; ++i) step->run();
  int64_t ours = 0, libraries = 0;
  {
    AllocationCount count;
    for (int i = 0; i < kSteps; ++i) step->run();
    ours = count.ours();
    libraries = count.libraries();
  }
  report.add({.name = "allocations by own code in a steady step",
              .value = double(ours) / kSteps,
              .unit = "",
              .better = Better::lower,
              .bar = 0,
              .note = fmt::format("oneDNN and OpenMP: {:.0f}", double(libraries) / kSteps)});
}

void measure_first_step(Report& report) {
  Samples samples = measure_start_up(9);
  if (samples.count() == 0) return;
  report.add({.name = "process start to first finished step",
              .value = samples.median(),
              .unit = "s",
              .better = Better::lower,
              .bar = 0.1,
              .note = samples.text()});
}

int run(const Options& options) {
  Report report;
  if (options.profile) {
    for (const Case& one : cases()) {
      if (!options.wants(one.name)) continue;
      std::cout << one.name << "\n";
      std::unique_ptr<TrainingStep> step = make_step(one);
      print_profile(step->program(), step->batch().tensors(), options.longer ? 200 : 50, std::cout);
    }
    return 0;
  }
  // Before anything else has woken a team or filled the memory.
  if (options.wants("process start")) measure_first_step(report);
  if (options.wants("host cost")) measure_host_cost(report);
  if (options.wants("allocations")) measure_allocations(report);
  MatmulPeak peak(kThreads);
  for (const Case& one : cases())
    if (options.wants(one.name)) measure_case(one, options.longer ? 4 : 1, peak, report);
  finish(report, options);
  return 0;
}

}  // namespace

}  // namespace stoker::bench

int main(int argc, char** argv) {
  omp_set_dynamic(0);
  return stoker::bench::run_main("bench_step", argc, argv, stoker::bench::run);
}
