// bench_zoo: whole networks, trained as users train them: fit over from_slices(…).batch(), Adam,
// sparse crossentropy. On a GPU in mixed_bfloat16, on a CPU in float32 with small batches.
//   bench_zoo [--device cuda|cpu] [--policy NAME] [--torch SCRIPT] [--all-modes] [--steps N]
//             [common options]
//   bench_zoo --start        first step of fresh processes, with an empty cache of plans and later
//   bench_zoo --first NAME   what those processes do
//   bench_zoo --serve NAME [--floor]   steps on request, for turns.py; with the floor of a step
// A row per network: samples per second, with the rate of its floor as the limit, and the time to
// the first step; with --profile the time and the floor of every kernel and op. SCRIPT is bench/zoo/peer.py, which trains the same networks in PyTorch.
#include <algorithm>
#include <bit>
#include <cstring>
#include <iostream>

#include <fmt/format.h>

#include "common/limits.h"
#include "common/options.h"
#include "common/peer_script.h"
#include "common/phases.h"
#include "common/profile.h"
#include "common/serve.h"
#include "common/timing.h"
#include "common/training_step.h"
#include "engine/registry.h"
#include "train/step/program_cache.h"
#include "zoo/networks.h"
#include "zoo/start.h"

namespace stoker::bench {
namespace {

struct Arguments : Options {
  std::string device = "auto", torch, first, serve;
  std::string policy;  // empty: mixed_bfloat16 on a GPU, float32 on a CPU
  bool start = false, all_modes = false, floor = false;
  int64_t steps = 0;  // per epoch; 0: as many as take about a second
  std::vector<Flag> flags() {
    return with(Options::flags(), {{"--device", &device},
                                   {"--torch", &torch},
                                   {"--policy", &policy},
                                   {"--first", &first},
                                   {"--serve", &serve},
                                   {"--floor", &floor},
                                   {"--start", &start},
                                   {"--all-modes", &all_modes},
                                   {"--steps", &steps}});
  }
};

// A network with its data, on one device.
class Trainee {
 public:
  Trainee(const Network& network, bool gpu, Context& context)
      : network_(network), batch_(gpu ? network.batch : network.cpu_batch) {
    set_seed(1);
    default_context().policy = context.policy;
    begun_ = now();
    model_ = network.make();
    model_.compile(
        {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .context = &context});
    drawn_ = now();
    fill_data(kBatches * batch_);
  }

  int64_t batch() const { return batch_; }
  double begun() const { return begun_; }
  double built() const { return drawn_ - begun_; }  // seconds: layers and their weights
  double loss() const { return loss_; }
  CachedProgram& program() { return training_program(model_, first_batch()); }
  Batch first_batch() const { return {x_.slice(0, batch_), y_.slice(0, batch_)}; }

  // Seconds per step of one fit.
  double train(int64_t steps) {
    data::Dataset dataset =
        data::from_slices({x_, y_}).repeat((steps + kBatches - 1) / kBatches).batch(batch_);
    double before = now();
    loss_ = model_.fit(dataset, {.steps_per_epoch = steps, .verbose = 0})["loss"].back();
    return (now() - before) / double(steps);
  }

 private:
  static constexpr int64_t kBatches = 4;

  // Random numbers again and again: making them must not be what a start takes.
  static void fill(std::byte* to, size_t bytes, bool pictures, Rng& rng) {
    std::vector<uint32_t> words(250'007);
    for (uint32_t& word : words)
      word = pictures ? rng() : std::bit_cast<uint32_t>(rng.uniform(-1, 1));
    size_t period = words.size() * sizeof(uint32_t);
    for (size_t at = 0; at < bytes; at += period)
      std::memcpy(to + at, words.data(), std::min(period, bytes - at));
  }

  void fill_data(int64_t samples) {
    bool pictures = network_.input.rank() == 3;
    std::vector<int64_t> shape = {samples};
    shape.insert(shape.end(), network_.input.begin(), network_.input.end());
    x_ = Tensor(pictures ? DType::uint8 : DType::float32, Shape(shape));
    Rng rng(7);
    fill(static_cast<std::byte*>(x_.raw_mut()), x_.bytes(), pictures, rng);
    if (network_.per_pixel)
      shape.pop_back();
    else
      shape.resize(1);
    y_ = Tensor(DType::int32, Shape(shape));
    for (int64_t i = 0; i < y_.elements(); ++i)
      y_.data_mut<int32_t>()[i] = int32_t(rng() % uint32_t(network_.classes));
  }

  Network network_;
  int64_t batch_;
  Model model_;
  Tensor x_, y_;
  double begun_ = 0, drawn_ = 0, loss_ = 0;
};

std::string policy_for(const Arguments& arguments) {
  if (!arguments.policy.empty()) return arguments.policy;
  return backend(arguments.device).traits().tensor_cores ? "mixed_bfloat16" : "float32";
}

Context context_of(const Arguments& arguments) {
  return {.seed = 1, .device = arguments.device, .policy = policy_for(arguments), .out = nullptr};
}

bool is_gpu(const std::string& device) { return backend(device).traits().beside_host; }

double floor_seconds(CachedProgram& cached, const Context& context) {
  double total = 0;
  for (double floor : floors_of(*cached.program, *cached.graph, limits_of(context))) total += floor;
  return total;
}

void measure(const Network& network, const Arguments& arguments, const Peers& peers,
             Report& report) {
  Context context = context_of(arguments);
  bool gpu = is_gpu(arguments.device);
  Trainee trainee(network, gpu, context);
  trainee.train(1);
  double first = now() - trainee.begun();
  double second = trainee.train(4);
  if (arguments.profile) {
    std::cout << network.name << "\n";
    CachedProgram& cached = trainee.program();
    std::vector<Tensor> batch = trainee.first_batch().tensors();
    print_profile(*cached.program, batch, 5, std::cout);
    return print_losses(*cached.program, *cached.graph, batch, 5, limits_of(context), std::cout);
  }
  int64_t steps =
      arguments.steps > 0 ? arguments.steps : std::clamp<int64_t>(int64_t(0.8 / second), 4, 400);
  Samples samples;
  for (int epoch = 0; epoch < (arguments.longer ? 7 : 3); ++epoch)
    samples.add(trainee.train(steps));
  double floor = floor_seconds(trainee.program(), context), seconds = samples.median();
  Row row{.name = fmt::format("{} b{}", network.name, trainee.batch()),
          .value = double(trainee.batch()) / seconds,
          .unit = "samples/s",
          .limit = double(trainee.batch()) / floor,
          .note = fmt::format("{} a step, {:.0f} % of its floor, first step after {:.2f} s "
                              "(weights {:.2f}), loss {:.4f}",
                              samples.text(), 100 * floor / seconds, first, trainee.built(),
                              trainee.loss())};
  if (auto found = peers.find(row.name); found != peers.end()) {
    row.peers = found->second;
    double best = 0;
    for (const Peer& peer : row.peers) best = std::max(best, peer.value);
    if (network.bar > 0 && gpu) row.bar = network.bar * best;
    row.note += fmt::format(", {:.2f} of PyTorch's", row.value / best);
  }
  std::cout << fmt::format("{}: {:.0f} samples/s, {}", row.name, row.value, row.note) << std::endl;
  report.add(row);
}

// The peer measures what is measured here, and nothing else.
Peers run_peer(const Arguments& arguments) {
  if (arguments.torch.empty()) return {};
  bool gpu = is_gpu(arguments.device);
  std::string command = arguments.torch + (gpu ? " --device cuda" : " --device cpu") +
                        (arguments.all_modes ? " --all-modes" : "");
  for (const Network& network : networks())
    if (arguments.wants(network.name))
      command += fmt::format(" {}:{}", network.name, gpu ? network.batch : network.cpu_batch);
  return run_peer_script(command);
}

Network network_called(const std::string& name) {
  for (const Network& network : networks())
    if (network.name == name) return network;
  throw ValueError("bench_zoo: no network is called " + name);
}

int first_step(const Arguments& arguments) {
  Phases phases;
  double begin = now();
  Context context = context_of(arguments);
  Trainee trainee(network_called(arguments.first), is_gpu(arguments.device), context);
  trainee.train(1);
  std::cout << fmt::format("{}: weights {:.3f} s, all {:.3f} s\n", arguments.first, trainee.built(),
                           now() - begin);
  phases.print(std::cout);
  return 0;
}

int serve(const Arguments& arguments) {
  Context context = context_of(arguments);
  Trainee trainee(network_called(arguments.serve), is_gpu(arguments.device), context);
  trainee.train(1);
  return serve_steps([&](int64_t steps) { trainee.train(steps); },
                     arguments.floor ? floor_seconds(trainee.program(), context) : 0);
}

int run(const Arguments& arguments) {
  if (!arguments.first.empty()) return first_step(arguments);
  if (!arguments.serve.empty()) return serve(arguments);
  Report report;
  if (arguments.start) {
    for (const Network& network : networks())
      if (arguments.wants(network.name)) measure_start(network.name, arguments.device, report);
    finish(report, arguments);
    return 0;
  }
  Peers peers = run_peer(arguments);
  for (const Network& network : networks()) {
    if (!arguments.wants(network.name)) continue;
    measure(network, arguments, peers, report);
    if (!arguments.json.empty() && !arguments.profile) report.write_json(arguments.json);
  }
  if (!arguments.profile) finish(report, arguments);
  return 0;
}

}  // namespace
}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_zoo", argc, argv, stoker::bench::run);
}
