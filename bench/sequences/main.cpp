// Recurrent layers and loops:
//   bench_sequences [--device cpu|cuda] [--peer SCRIPT] [--transformers-peer SCRIPT] [--json FILE]
//                   [--only TEXT]
// A training step of two layers of 512 units on 64 sequences of 200 ids (embedding, layers, Dense 2,
// AdamW), in bfloat16 on a GPU and in float32 on a CPU; then a loop of 200 and of 400 steps.
// SCRIPT is bench/sequences/peer.py: it runs the same steps in PyTorch and, on a CPU, in Keras. Python
// is STOKER_PEER_PYTHON, or python3. Transformers: see transformers.h.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <stoker/stoker.h>
#include <nlohmann/json.hpp>

#include "common/report.h"
#include "common/timing.h"
#include "engine/registry.h"
#include "sequences/transformers.h"

namespace stoker::bench {

namespace {

struct Arguments {
  std::string device = "auto", peer, transformers_peer, json, only;
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments found;
  std::map<std::string, std::string*> words = {{"--device", &found.device},
                                               {"--peer", &found.peer},
                                               {"--transformers-peer", &found.transformers_peer},
                                               {"--json", &found.json},
                                               {"--only", &found.only}};
  for (int i = 1; i < argc; i += 2) {
    auto word = words.find(argv[i]);
    if (word == words.end() || i + 1 == argc)
      throw ValueError(fmt::format(
          "{}: expected --device NAME, --peer SCRIPT, --transformers-peer SCRIPT, --json FILE or "
          "--only TEXT",
          argv[i]));
    *word->second = argv[i + 1];
  }
  return found;
}

// The script prints one JSON object per line: {"row", "peer", "ms"}.
std::map<std::string, std::vector<Peer>> run_peer(const Arguments& arguments) {
  std::map<std::string, std::vector<Peer>> peers;
  if (arguments.peer.empty()) return peers;
  const char* python = std::getenv("STOKER_PEER_PYTHON");
  std::string command = fmt::format("{} {} {}", python != nullptr ? python : "python3",
                                    arguments.peer, arguments.device);
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  char line[4096];
  while (pipe != nullptr && fgets(line, sizeof line, pipe.get()) != nullptr) {
    auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (row.is_object() && row.contains("ms"))
      peers[row["row"]].push_back({row["peer"], row["ms"], "ms"});
  }
  return peers;
}

// --- layers ---

constexpr int64_t kBatch = 64, kLength = 200, kWords = 20000;

struct Network {
  std::string name;
  std::function<Layer(bool last)> layer;
};

std::vector<Network> networks() {
  auto lstm = [](bool last) { return LSTM(512, {.return_sequences = !last}); };
  return {{"LSTM 2x512 b64 T200", lstm},
          {"BiLSTM 2x512 b64 T200", [=](bool last) { return Bidirectional(lstm(last)); }},
          {"GRU 2x512 b64 T200", [](bool last) { return GRU(512, {.return_sequences = !last}); }}};
}

double median_ms(const Network& network, const std::string& device) {
  bool gpu = device == "cuda";
  Sequential model({Input({kLength}, {.dtype = DType::int32}), Embedding(kWords, 256),
                    network.layer(false), network.layer(true), Dense(2)});
  model.compile({.optimizer = AdamW({.learning_rate = 1e-3}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  Tensor ids(DType::int32, {kBatch, kLength}), labels(DType::int32, {kBatch});
  Rng rng(1);
  for (int32_t& id : std::span(ids.data_mut<int32_t>(), size_t(ids.elements())))
    id = int32_t(rng.integer(0, kWords));
  for (int32_t& label : std::span(labels.data_mut<int32_t>(), size_t(kBatch)))
    label = int32_t(rng.integer(0, 2));
  Samples samples;
  int steps = gpu ? 20 : 1, rounds = gpu ? 5 : 3;
  for (int i = 0; i < (gpu ? 6 : 1); ++i) model.train_on_batch(ids, labels);
  for (int round = 0; round < rounds; ++round) {
    double begin = now();
    double loss = 0;
    for (int i = 0; i < steps; ++i) loss = model.train_on_batch(ids, labels)["loss"];
    if (!(loss < 100)) throw Error("the loss is not finite");
    samples.add((now() - begin) / steps);
  }
  return samples.median() * 1e3;
}

void add_networks(Report& report, const Arguments& arguments) {
  auto peers = run_peer(arguments);
  for (const Network& network : networks()) {
    if (network.name.find(arguments.only) == std::string::npos) continue;
    Row row{.name = network.name,
            .value = median_ms(network, arguments.device),
            .unit = "ms",
            .better = Better::lower,
            .peers = peers[network.name]};
    double best = 1e30;
    for (const Peer& peer : row.peers) best = std::min(best, peer.value);
    if (!row.peers.empty()) {
      row.bar = best / (arguments.device == "cuda" ? 1.2 : 1.3);
      row.note = fmt::format("{:.2f}x the best peer", best / row.value);
    }
    report.add(row);
  }
}

// --- loops ---

// tanh(h · w + x) by ops::scan, forwards and backwards.
struct Loop {
  Graph graph;
  std::unique_ptr<Program> program;
  std::vector<Tensor> inputs;
  double build_seconds = 0;

  Loop(int64_t length, const std::string& device) {
    double begin = now();
    inputs = {Tensor::full({length, 32, 128}, 0.1), Tensor::full({128, 128}, 0.01)};
    Value x = graph.input("x", inputs[0].spec()), w = graph.input("w", inputs[1].spec());
    Value h = ops::scan(
                  [&](const Values& carry, const Values& slices) {
                    return ops::ScanStep{{ops::tanh(ops::matmul(carry[0], w) + slices[0])}, {}};
                  },
                  {Value(Tensor::zeros({32, 128}))}, {x})
                  .carry[0];
    for (const Value& gradient : gradients(ops::sum(h), {x, w})) graph.output(gradient, "d");
    program = backend(device).compile(graph, {});
    build_seconds = now() - begin;
  }
  void run() {
    program->run(inputs);
    program->output(1);
  }
};

void add_loops(Report& report, const Arguments& arguments) {
  if (std::string("scan 400 / 200").find(arguments.only) == std::string::npos) return;
  Loop half(200, arguments.device), whole(400, arguments.device);
  Turns turns{.warm_up = 3, .block = 3, .seconds = 6};
  auto samples = take_turns({{"400", [&] { whole.run(); }}, {"200", [&] { half.run(); }}}, turns);
  report.add({.name = "scan 400 / 200: time",
              .value = paired_ratio(samples[0], samples[1], turns.block),
              .unit = "x",
              .better = Better::lower,
              .bar = 2.1,
              .note = samples[0].text()});
  report.add({.name = "scan 400 / 200: memory",
              .value = double(whole.program->memory().arena) / double(half.program->memory().arena),
              .unit = "x",
              .better = Better::lower,
              .bar = 2.1});
  report.add({.name = "scan 400: build",
              .value = whole.build_seconds * 1e3,
              .unit = "ms",
              .better = Better::lower,
              .note = fmt::format("200: {:.2f} ms", half.build_seconds * 1e3)});
}

int run_all(int argc, char** argv) {
  Arguments arguments = parse_arguments(argc, argv);
  if (arguments.device == "auto") arguments.device = is_usable("cuda") ? "cuda" : "cpu";
  default_context().device = arguments.device;
  set_global_policy(arguments.device == "cuda" ? "mixed_bfloat16" : "float32");
  Report report;
  add_loops(report, arguments);
  add_networks(report, arguments);
  if (arguments.device == "cpu")
    add_transformers(report, {.peer = arguments.transformers_peer, .only = arguments.only});
  report.print(std::cout);
  if (!arguments.json.empty()) report.write_json(arguments.json);
  return report.all_met() ? 0 : 1;
}

}  // namespace

}  // namespace stoker::bench

int main(int argc, char** argv) {
  try {
    return stoker::bench::run_all(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench_sequences: " << error.what() << "\n";
    return 2;
  }
}
