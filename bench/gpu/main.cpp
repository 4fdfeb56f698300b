// The GPU bars, made to be run on a borrowed machine in a few minutes:
//   bench_gpu --check [--only TEXT]          every op against the reference
//   bench_gpu [--json FILE] [--torch SCRIPT] [--photos FOLDER] [--only TEXT] [--profile]
//   bench_gpu --all …                        both, in one table
//   bench_gpu --losses FOLDER                writes ResNet-50's weights, batch and losses there
// SCRIPT is bench/gpu/peer.py: it runs the same steps in PyTorch and prints rows.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <stoker/stoker.h>
#include <nlohmann/json.hpp>

#include "common/options.h"
#include "common/peer_script.h"
#include "common/report.h"
#include "common/timing.h"
#include "engine/registry.h"
#include "gpu/checks.h"
#include "gpu/fed.h"
#include "gpu/models.h"

namespace stoker::bench {

namespace {

struct Arguments : Options {
  bool check = false, all = false;
  std::string torch, photos, losses, device = "cuda";

  std::vector<Flag> flags() {
    return with(Options::flags(), {{"--check", &check},
                                   {"--all", &all},
                                   {"--torch", &torch},
                                   {"--photos", &photos},
                                   {"--losses", &losses},
                                   {"--device", &device}});
  }
};

// --- measuring ---

constexpr int kBlocks = 7;

// Milliseconds a step: blocks of steps, the device waited for after each block.
Samples measure(Program& program, int steps, const std::vector<Tensor>& inputs) {
  for (int i = 0; i < 5; ++i) program.run(inputs);
  program.status();
  Samples samples;
  for (int block = 0; block < kBlocks; ++block) {
    double before = now();
    for (int i = 0; i < steps; ++i) program.run(inputs);
    program.status();
    samples.add((now() - before) / steps);
  }
  return samples;
}

CompileOptions options_for(DType dtype) {
  CompileOptions options;
  options.status_lag = 2;
  options.tf32 = dtype == DType::float32;
  return options;
}

// Time by kind of kernel; with a file, also of every kernel in its order.
void profile(GpuModel& model, const CompileOptions& options, const Arguments& arguments) {
  auto program = model.compile(options, arguments.device);
  std::vector<int64_t> times;
  for (int i = 0; i < 3; ++i) program->run_timed({}, times);
  std::map<std::string, std::pair<double, int>> by_kernel;
  nlohmann::json in_order;
  double total = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    const KernelInfo& info = program->kernels()[i];
    in_order.push_back({{"op", info.op}, {"kernel", info.kernel}, {"us", double(times[i]) * 1e-3}});
    auto& [sum, count] = by_kernel[info.op + " " + info.kernel];
    sum += double(times[i]) * 1e-3;
    total += double(times[i]) * 1e-3;
    ++count;
  }
  std::vector<std::pair<std::string, std::pair<double, int>>> rows(by_kernel.begin(),
                                                                   by_kernel.end());
  std::ranges::sort(rows, std::greater<>(), [](const auto& row) { return row.second.first; });
  std::cout << fmt::format("{} kernels, {:.1f} us one by one\n", times.size(), total);
  for (const auto& [name, sum] : rows)
    std::cout << fmt::format("  {:10.1f} us {:4}x  {}\n", sum.first, sum.second, name);
  if (!arguments.json.empty()) std::ofstream(arguments.json) << in_order.dump(1) << "\n";
}

struct Bar {
  std::string name;
  std::unique_ptr<GpuModel> (*make)(int64_t, const GpuModelOptions&);
  int64_t batch;
  DType dtype;
  int steps;
  bool images;  // a rate instead of a time
  std::optional<double> bar;
};

std::vector<Bar> bars() {
  return {
      {"CNN 64/128 batch 32 bf16", GpuModel::cnn, 32, DType::bfloat16, 300, false, 0.040},
      {"CNN 64/128 batch 128 bf16", GpuModel::cnn, 128, DType::bfloat16, 300, false, {}},
      {"CNN 64/128 batch 1024 bf16", GpuModel::cnn, 1024, DType::bfloat16, 200, false, 0.25},
      {"CNN 64/128 batch 32 tf32", GpuModel::cnn, 32, DType::float32, 300, false, {}},
      {"ResNet-50 batch 64 bf16", GpuModel::resnet50, 64, DType::bfloat16, 20, true, {}},
      {"ResNet-50 batch 256 bf16", GpuModel::resnet50, 256, DType::bfloat16, 10, true, 9000.0},
  };
}

void measure_bar(const Bar& bar, const Arguments& arguments, const Peers& peers, Report& report) {
  auto model = bar.make(bar.batch, {.compute = bar.dtype});
  CompileOptions options = options_for(bar.dtype);
  if (arguments.profile) {
    std::cout << bar.name << "\n";
    return profile(*model, options, arguments);
  }
  double before = now();
  auto program = model->compile(options, arguments.device);
  double compiled = now() - before;
  Samples samples = measure(*program, bar.steps, {});
  double ms = samples.median() * 1e3;
  Row row{.name = bar.name,
          .value = bar.images ? double(bar.batch) / samples.median() : ms,
          .unit = bar.images ? "img/s" : "ms/step",
          .better = bar.images ? Better::higher : Better::lower,
          .bar = bar.bar};
  if (auto found = peers.find(bar.name); found != peers.end()) row.peers = found->second;
  row.note = fmt::format("{} a step, compiled in {:.1f} s, {} kernels, loss {:.4f}, {:.0f} MB",
                         samples.text(), compiled, program->kernels().size(), program->scalar(0),
                         double(program->memory().total) / 1e6);
  report.add(row);
}

// Of steady steps: how often the host waits and memory is allocated, and what was predicted.
void measure_steadiness(const Arguments& arguments, Report& report) {
  constexpr int kSteps = 100;
  auto model = GpuModel::resnet50(64);
  size_t before = 0;
  {
    Graph empty;
    auto probe = backend(arguments.device).compile(empty, {});
    before = probe->device_counts().bytes;
  }
  auto program = model->compile(options_for(DType::bfloat16), arguments.device);
  for (int i = 0; i < 5; ++i) program->run({});
  program->status();
  DeviceCounts start = program->device_counts();
  for (int i = 0; i < kSteps; ++i) program->run({});
  DeviceCounts end = program->device_counts();
  program->status();
  report.add({.name = "host synchronisations in 100 steady steps",
              .value = double(end.synchronisations - start.synchronisations),
              .unit = "",
              .better = Better::lower,
              .bar = 0.0});
  report.add({.name = "device allocations in 100 steady steps",
              .value = double(end.allocations - start.allocations),
              .unit = "",
              .better = Better::lower,
              .bar = 0.0});
  double held = double(end.bytes - before), predicted = double(program->memory().total);
  report.add(
      {.name = "ResNet-50 batch 64: memory held / predicted",
       .value = held / predicted,
       .unit = "",
       .better = Better::lower,
       .bar = 1.02,
       .note = fmt::format("{:.1f} MB held, {:.1f} MB predicted", held / 1e6, predicted / 1e6)});
}

// The CNN 64/128 as users write it: fit over arrays of the host, with copies, metrics and the guard
// over all gradients that the rows above do without.
constexpr const char* kFitRow = "CNN 64/128 batch 128 mixed_bfloat16 through fit";

void measure_fit(const Arguments& arguments, Report& report) {
  constexpr int64_t kBatch = 128, kSteps = 200;
  Context& context = default_context();
  context.device = arguments.device;
  context.out = nullptr;
  set_global_policy("mixed_bfloat16");
  set_seed(1);
  Sequential model({Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(),
                    Conv2D(128, 3, {.activation = "relu"}), MaxPooling2D(), Flatten(),
                    Dense(10, {.activation = "softmax"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  auto data = GpuModel::cnn(kBatch * kSteps)->batch();
  auto epoch = [&] {
    double before = now();
    model.fit(data[0], data[1], {.epochs = 1, .batch_size = kBatch, .verbose = 0});
    return (now() - before) / double(kSteps);
  };
  epoch();
  Samples samples;
  for (int i = 0; i < kBlocks; ++i) samples.add(epoch());
  report.add({.name = kFitRow,
              .value = samples.median() * 1e3,
              .unit = "ms/step",
              .better = Better::lower,
              .note = samples.text()});
}

// ResNet-50 likewise: bytes that come from the host in every step.
constexpr const char* kResnetFitRow = "ResNet-50 batch 256 mixed_bfloat16 through fit";

void measure_resnet_fit(const Arguments& arguments, Report& report) {
  constexpr int64_t kBatch = 256, kPictures = 8 * kBatch, kSteps = 48;
  Context context{
      .seed = 1, .device = arguments.device, .policy = "mixed_bfloat16", .out = nullptr};
  Tensor x(DType::uint8, {kPictures, 224, 224, 3}), y(DType::int64, {kPictures});
  Rng rng(7);
  for (int64_t i = 0; i < kPictures; ++i) y.data_mut<int64_t>()[i] = rng.integer(0, 1000);
  for (int64_t i = 0; i < x.elements(); ++i) x.data_mut<uint8_t>()[i] = uint8_t(i * 37 % 251);
  set_seed(1);
  Model model = applications::resnet50({.dtype = DType::uint8});
  model.compile({.optimizer = "adam",
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .context = &context});
  backend(arguments.device);  // its page-locked memory is what the pipeline takes
  data::Dataset dataset = data::from_slices({x, y})
                              .repeat(kSteps * kBatch / kPictures)
                              .batch(kBatch)
                              .prefetch(AUTOTUNE);
  auto epoch = [&] {
    double before = now();
    model.fit(dataset, {.epochs = 1, .verbose = 0});
    return (now() - before) / double(kSteps);
  };
  epoch();
  Samples samples;
  for (int i = 0; i < 3; ++i) samples.add(epoch());
  report.add({.name = kResnetFitRow,
              .value = double(kBatch) / samples.median(),
              .unit = "img/s",
              .note = samples.text() + " a step"});
}

// --- losses beside another framework, and repeated ---

int write_losses(const std::string& folder, const std::string& device) {
  constexpr int kSteps = 100;
  std::vector<double> losses[2];
  for (std::vector<double>& run : losses) {
    auto model = GpuModel::resnet50(32);
    if (&run == &losses[0]) model->save(folder);
    auto program = model->compile(options_for(DType::bfloat16), device);
    for (int step = 0; step < kSteps; ++step) {
      program->run({});
      run.push_back(program->scalar(0));
    }
  }
  nlohmann::json result = {{"losses", losses[0]}, {"bit_identical", losses[0] == losses[1]}};
  std::ofstream(folder + "/losses.json") << result.dump(1) << "\n";
  std::cout << "ResNet-50 batch 32, " << kSteps << " steps: loss " << losses[0].front() << " to "
            << losses[0].back() << ", a second run is "
            << (losses[0] == losses[1] ? "bit-identical" : "DIFFERENT") << "\n";
  return losses[0] == losses[1] ? 0 : 1;
}

void check_all_ops(Report& report) {
  std::ostringstream text;
  int failed = check_ops(text, "");
  if (failed > 0) std::cout << text.str();
  report.add({.name = "ops that differ from the reference",
              .value = double(failed),
              .unit = "",
              .better = Better::lower,
              .bar = 0.0});
}

int run(const Arguments& arguments) {
  if (std::string why; arguments.device == "cuda" && !is_usable("cuda", &why)) {
    std::cout << "skipped: " << why << "\n";
    return 77;
  }
  std::cout << backend(arguments.device).fingerprint() << std::endl;
  if (arguments.check) return check_ops(std::cout, arguments.only) == 0 ? 0 : 1;
  if (!arguments.losses.empty()) return write_losses(arguments.losses, arguments.device);
  Report report;
  if (arguments.all) check_all_ops(report);
  Peers peers = run_peer_script(arguments.torch);
  for (const Bar& bar : bars())
    if (arguments.wants(bar.name)) measure_bar(bar, arguments, peers, report);
  if (arguments.wants("steadiness") && !arguments.profile) measure_steadiness(arguments, report);
  if (arguments.wants(kFitRow) && !arguments.profile) measure_fit(arguments, report);
  if (arguments.wants(kResnetFitRow) && !arguments.profile) measure_resnet_fit(arguments, report);
  if (arguments.wants("fed from JPEG") && !arguments.profile)
    measure_fed(arguments.photos, arguments.device, report);
  if (!arguments.profile) finish(report, arguments);
  return 0;
}

}  // namespace

}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_gpu", argc, argv, stoker::bench::run);
}
