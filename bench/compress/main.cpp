// bench_compress: what smaller models gain, and what they cost in accuracy.
//   bench_compress [--long] [--json FILE] [--networks cnn,resnet18] [--seeds N] [--samples N]
//                  [--epochs N] [--mnist DIR] [--alone]
// The short form trains the CNN of 64 and 128 filters on made-up pictures, from two seeds; --long
// trains it, resnet18 and mobilenet from five, and on MNIST where --mnist names a folder with its
// files. The int8 forms of ONNX Runtime and PyTorch run in the same run (peer.py, in the environment
// of scripts/peers-setup.sh); --alone leaves them out.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>

#include <fmt/format.h>
#include <stoker/context.h>
#include <stoker/random.h>

#include "common/options.h"
#include "common/peer_script.h"
#include "common/report.h"
#include "compress/trials.h"

namespace stoker::bench {

namespace {

// Rows that peers have too.
constexpr const char *kInt8Inference = "int8, inference", *kFloatTime = "float, inference",
                     *kInt8Time = "int8, inference of 64";

struct Arguments : Options {
  std::string mnist;     // a folder; empty: not measured
  std::string networks;  // with commas between them; empty: as the form says
  bool alone = false;    // without peers
  int64_t seeds = 0;     // 0: as the form says
  int64_t samples = 0, epochs = 0;
  std::vector<Flag> flags() {
    return with(Options::flags(), {{"--mnist", &mnist},
                                   {"--networks", &networks},
                                   {"--alone", &alone},
                                   {"--seeds", &seeds},
                                   {"--samples", &samples},
                                   {"--epochs", &epochs}});
  }
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

class Rows {
 public:
  Rows(Report& report, std::string title, const std::vector<Trial>& trials, const Peers& peers)
      : report_(report), title_(std::move(title)), trials_(trials), peers_(peers) {}

  void add(const std::string& what, const std::string& unit, Better better,
           std::optional<double> bar, const std::function<double(const Trial&)>& figure) {
    std::vector<double> values;
    for (const Trial& trial : trials_) values.push_back(figure(trial));
    Mean mean = mean_of(values);
    std::string each;
    auto found = peers_.find(what);
    for (double value : values) each += fmt::format("{}{:.2f}", each.empty() ? "" : " ", value);
    report_.add({.name = title_ + ": " + what,
                 .value = mean.value,
                 .unit = unit,
                 .better = better,
                 .bar = bar,
                 .peers = found == peers_.end() ? std::vector<Peer>() : found->second,
                 .note = values.size() < 2 ? "one seed"
                                           : fmt::format("±{:.2f} (95 %), {} seeds: {}", mean.reach,
                                                         values.size(), each)});
  }

  // Better with the teacher than without: the lower end of the interval decides.
  void add_distillation() {
    std::vector<double> gains;
    for (const Trial& trial : trials_) gains.push_back(trial.distilled - trial.student);
    Mean mean = mean_of(gains);
    report_.add({.name = title_ + ": student of a quarter of the size, gained by distillation, "
                                  "lower end of the 95 % interval",
                 .value = mean.value - mean.reach,
                 .unit = "points",
                 .bar = gains.size() > 1 ? std::optional(0.0) : std::nullopt,  // no interval of one
                 .note = fmt::format("mean {:+.2f}, {} seeds", mean.value, gains.size())});
  }

 private:
  Report& report_;
  std::string title_;
  const std::vector<Trial>& trials_;
  const Peers& peers_;
};

void add_rows(Report& report, const std::string& title, const std::vector<Trial>& trials,
              const Peers& peers) {
  Rows rows(report, title, trials, peers);
  rows.add("float accuracy", "%", Better::higher, 80.0, [](const Trial& t) { return t.accuracy; });
  rows.add("float error, room for a difference", "%", Better::higher, 5.0,
           [](const Trial& t) { return 100 - t.accuracy; });
  rows.add("90 % of weights pruned, accuracy lost", "points", Better::lower, 0.5,
           [](const Trial& t) { return t.accuracy - t.pruned; });
  rows.add("half the FLOPs, accuracy lost", "points", Better::lower, 1.0,
           [](const Trial& t) { return t.accuracy - t.channels; });
  rows.add("half the FLOPs, FLOPs left", "%", Better::lower, 50.0,
           [](const Trial& t) { return 100 * t.flops; });
  rows.add("half the FLOPs, inference", "× as fast", Better::higher, 1.6,
           [](const Trial& t) { return t.inference_speedup; });
  rows.add("half the FLOPs, training", "× as fast", Better::higher, 1.6,
           [](const Trial& t) { return t.training_speedup; });
  rows.add("half the FLOPs, predicted against measured speedup of training", "% off", Better::lower,
           20.0, [](const Trial& t) {
             return 100 * std::abs(t.predicted_speedup / t.training_speedup - 1);
           });
  rows.add("int8, accuracy lost", "points", Better::lower, 0.5,
           [](const Trial& t) { return t.accuracy - t.int8; });
  rows.add(kInt8Inference, "× as fast", Better::higher, 2.0,
           [](const Trial& t) { return t.int8_speedup; });
  rows.add(kFloatTime, "ms", Better::lower, {}, [](const Trial& t) { return t.float_ms; });
  rows.add(kInt8Time, "ms", Better::lower, {}, [](const Trial& t) { return t.int8_ms; });
  rows.add("student alone, accuracy", "%", Better::higher, {},
           [](const Trial& t) { return t.student; });
  rows.add("student distilled, accuracy", "%", Better::higher, {},
           [](const Trial& t) { return t.distilled; });
  rows.add("student, parameters", "% of the model's", Better::lower, {},
           [](const Trial& t) { return 100 * t.student_parameters; });
  rows.add_distillation();
}

Peers ask_peers(const Model& model, const Task& task) {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("stoker-bench-compress-{}", getpid());
  std::filesystem::create_directories(folder);
  write_for_peers(model, task, folder.string());
  Peers peers = run_peer_script(STOKER_BENCH_SOURCE_DIR "/compress/peer.py " + folder.string());
  std::filesystem::remove_all(folder);
  return peers;
}

// The bars once more, those that were missed last.
void print_bars(const Report& report) {
  for (bool reached : {true, false})
    for (const Row& row : report.rows())
      if (row.bar && row.met() == reached)
        std::cout << fmt::format("{}  {}: {:.2f} {}, bar {} {:.2f}\n",
                                 reached ? "reached" : "missed ", row.name, row.value, row.unit,
                                 row.better == Better::higher ? "≥" : "≤", *row.bar);
}

struct Work {
  std::string network;
  std::function<Task(uint64_t seed)> task;
};

int run(const Arguments& arguments) {
  bool longer = arguments.longer;
  Training how = longer ? Training{} : Training{.epochs = 5, .recovery = 3, .seconds = 1};
  if (arguments.epochs > 0) how.epochs = how.recovery = arguments.epochs;
  int64_t samples = arguments.samples > 0 ? arguments.samples : longer ? 20'000 : 1'000;
  int64_t tests = longer ? samples / 2 : 2 * samples;  // enough to tell half a point
  int64_t seeds = arguments.seeds > 0 ? arguments.seeds : longer ? 5 : 2;
  std::vector<std::string> networks = split(!arguments.networks.empty() ? arguments.networks
                                            : longer                    ? "cnn,resnet18,mobilenet"
                                                                        : "cnn");
  std::vector<Work> works;
  for (const std::string& name : networks) {
    works.push_back({name, [=](uint64_t seed) { return blended_patterns(samples, tests, seed); }});
    if (!arguments.mnist.empty())
      works.push_back({name, [=](uint64_t) { return mnist(arguments.mnist, samples, tests); }});
  }
  Report report;
  for (const Work& work : works) {
    std::vector<Trial> trials;
    std::string title;
    Peers peers;
    for (int64_t seed = 1; seed <= seeds; ++seed) {
      Task task = work.task(uint64_t(seed));
      title = work.network + ", " + task.name;
      if (!arguments.wants(title)) break;
      set_seed(uint64_t(seed));
      Trained both = trained(work.network, task, how);
      trials.push_back(try_out(both, task, how));
      if (seed == 1 && !arguments.alone) peers = ask_peers(both.model, task);
      std::cout << fmt::format("{}, seed {}: {:.1f} %\n", title, seed, trials.back().accuracy)
                << std::flush;
    }
    if (trials.empty()) continue;
    add_rows(report, title, trials, peers);
    if (!arguments.json.empty()) report.write_json(arguments.json);  // whole when cut
  }
  finish(report, arguments);
  print_bars(report);
  return 0;
}

}  // namespace

}  // namespace stoker::bench

int main(int argc, char** argv) {
  return stoker::bench::run_main("bench_compress", argc, argv, stoker::bench::run);
}
