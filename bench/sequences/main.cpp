// Recurrent layers, loops, attention and GPT-2:
//   bench_sequences [--device cpu|cuda] [--peer SCRIPT] [--transformers-peer SCRIPT] [--json FILE]
//                   [--only TEXT] [--profile yes]
//   bench_sequences --serve ROW      steps of one row on request, for bench/zoo/turns.py
//   bench_sequences --curve FOLDER   the losses of a small GPT, for curve.py
// A training step of two layers of 512 units on 64 sequences of 200 ids (embedding, layers, Dense 2,
// AdamW), in bfloat16 on a GPU and in float32 on a CPU; then a loop of 200 and of 400 steps.
// On a GPU also a training step of GPT-2 124M, whose kernels --profile lists, and attention by itself at
// length 4,096, both ways.
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

#include "common/profile.h"
#include "common/report.h"
#include "common/serve.h"
#include "common/timing.h"
#include "common/training_step.h"
#include "engine/registry.h"
#include "sequences/attention.h"
#include "sequences/curve.h"
#include "sequences/gpt2.h"
#include "sequences/transformers.h"
#include "train/step/program_cache.h"

namespace stoker::bench {

namespace {

struct Arguments {
  std::string device = "auto", peer, transformers_peer, json, only, profile, serve, curve;
  bool wants(const std::string& row) const { return row.find(only) != std::string::npos; }
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments found;
  std::map<std::string, std::string*> words = {{"--device", &found.device},
                                               {"--peer", &found.peer},
                                               {"--transformers-peer", &found.transformers_peer},
                                               {"--json", &found.json},
                                               {"--only", &found.only},
                                               {"--profile", &found.profile},
                                               {"--serve", &found.serve},
                                               {"--curve", &found.curve}};
  for (int i = 1; i < argc; i += 2) {
    auto word = words.find(argv[i]);
    if (word == words.end() || i + 1 == argc)
      throw ValueError(fmt::format(
          "{}: expected --device NAME, --peer SCRIPT, --transformers-peer SCRIPT, --json FILE, "
          "--only TEXT, --profile yes, --serve ROW or --curve FOLDER",
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
  std::string command = fmt::format("{} {} {} '{}'", python != nullptr ? python : "python3",
                                    arguments.peer, arguments.device, arguments.only);
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

// A training step on one batch.
struct RecurrentStep {
  Sequential model;
  Tensor ids = Tensor(DType::int32, {kBatch, kLength}), labels = Tensor(DType::int32, {kBatch});

  explicit RecurrentStep(const Network& network);
  void run(int64_t steps);
};

RecurrentStep::RecurrentStep(const Network& network)
    : model({Input({kLength}, {.dtype = DType::int32}), Embedding(kWords, 256),
             network.layer(false), network.layer(true), Dense(2)}) {
  model.compile({.optimizer = AdamW({.learning_rate = 1e-3}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  Rng rng(1);
  for (int32_t& id : std::span(ids.data_mut<int32_t>(), size_t(ids.elements())))
    id = int32_t(rng.integer(0, kWords));
  for (int32_t& label : std::span(labels.data_mut<int32_t>(), size_t(kBatch)))
    label = int32_t(rng.integer(0, 2));
}

void RecurrentStep::run(int64_t steps) {
  double loss = 0;
  for (int64_t i = 0; i < steps; ++i) loss = model.train_on_batch(ids, labels)["loss"];
  if (!(loss < 100)) throw Error("the loss is not finite");
}

double median_ms(const Network& network, const std::string& device) {
  bool gpu = device == "cuda";
  RecurrentStep step(network);
  Samples samples;
  int steps = gpu ? 20 : 1, rounds = gpu ? 5 : 3;
  step.run(gpu ? 6 : 1);
  for (int round = 0; round < rounds; ++round) {
    double begin = now();
    step.run(steps);
    samples.add((now() - begin) / steps);
  }
  return samples.median() * 1e3;
}

using RowPeers = std::map<std::string, std::vector<Peer>>;

// `times`: how much faster than the best peer it should be.
void add_row(Report& report, RowPeers& peers, Row row, double times) {
  row.better = Better::lower;
  row.peers = peers[row.name];
  double best = 1e30;
  for (const Peer& peer : row.peers) best = std::min(best, peer.value);
  if (!row.peers.empty()) {
    row.bar = best / times;
    row.note = fmt::format("{:.2f}x the best peer{}{}", best / row.value,
                           row.note.empty() ? "" : ", ", row.note);
  }
  report.add(row);
}

void add_networks(Report& report, RowPeers& peers, const Arguments& arguments) {
  for (const Network& network : networks())
    if (arguments.wants(network.name))
      add_row(report, peers,
              {.name = network.name, .value = median_ms(network, arguments.device), .unit = "ms"},
              arguments.device == "cuda" ? 1.2 : 1.3);
}

// --- GPT-2 ---

void add_gpt2(Report& report, RowPeers& peers, const Arguments& arguments) {
  if (!arguments.wants(kGptRow)) return;
  Model model = gpt2();
  model.compile({.optimizer = AdamW({.learning_rate = 1e-3}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  Batch batch = gpt2_batch();
  double loss = 0;
  for (int i = 0; i < 5; ++i) loss = model.train_on_batch(batch)["loss"];
  Program& program = *training_program(model, batch).program;
  if (!arguments.profile.empty()) return print_profile(program, batch.tensors(), 5, std::cout);
  Samples samples;
  constexpr int kSteps = 10;
  for (int round = 0; round < 5; ++round) {
    double begin = now();
    for (int i = 0; i < kSteps; ++i) loss = model.train_on_batch(batch)["loss"];
    samples.add((now() - begin) / kSteps);
  }
  double tokens = double(kGptBatch * kGptLength) / samples.median();
  add_row(report, peers,
          {.name = kGptRow,
           .value = samples.median() * 1e3,
           .unit = "ms",
           .note = fmt::format("{:.0f} tokens/s, {:.2f} GB, loss {:.3f}", tokens,
                               double(program.memory().total) * 1e-9, loss)},
          1.1);
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

int serve(const std::string& row) {
  for (const Network& network : networks())
    if (network.name == row) {
      RecurrentStep step(network);
      step.run(1);
      return serve_steps([&](int64_t steps) { step.run(steps); });
    }
  return serve_transformer(row);
}

int run_all(int argc, char** argv) {
  Arguments arguments = parse_arguments(argc, argv);
  if (arguments.device == "auto") arguments.device = is_usable("cuda") ? "cuda" : "cpu";
  default_context().device = arguments.device;
  set_global_policy(arguments.device == "cuda" ? "mixed_bfloat16" : "float32");
  if (!arguments.serve.empty()) return serve(arguments.serve);
  if (!arguments.curve.empty()) return write_curve(arguments.curve);
  Report report;
  add_loops(report, arguments);
  auto peers = run_peer(arguments);
  add_networks(report, peers, arguments);
  if (arguments.device == "cuda") {
    add_gpt2(report, peers, arguments);
    for (const AttentionCase& size : attention_cases())
      if (arguments.wants(size.name()))
        for (Row& row : measure_attention(size)) add_row(report, peers, row, 0.95);
  }
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
