#include "sequences/transformers.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <stoker/stoker.h>
#include <nlohmann/json.hpp>

#include "common/serve.h"
#include "common/timing.h"

namespace stoker::bench {

namespace {

// The script prints one JSON object per line: {"row", "peer", "ms"}.
std::vector<Peer> run_transformer_peer(const std::string& script, const std::string& row) {
  std::vector<Peer> peers;
  if (script.empty()) return peers;
  const char* python = std::getenv("STOKER_PEER_PYTHON");
  std::string command =
      fmt::format("{} {} '{}'", python != nullptr ? python : "python3", script, row);
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  char line[4096];
  while (pipe != nullptr && fgets(line, sizeof line, pipe.get()) != nullptr) {
    auto found = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (found.is_object() && found.contains("ms"))
      peers.push_back({found["peer"], found["ms"], "ms"});
  }
  return peers;
}

Tensor drawn_ids(const Shape& shape, int64_t limit) {
  Tensor ids(DType::int32, shape);
  Rng rng(1);
  for (int32_t& id : std::span(ids.data_mut<int32_t>(), size_t(ids.elements())))
    id = int32_t(rng.integer(0, limit));
  return ids;
}

Value feed_forward(const Value& x, int64_t width) {
  return Dense(width)(Dense(4 * width, {.activation = "gelu"})(x));
}

// Pre-norm blocks.
Value blocks(Value x, int count, int64_t width, int64_t heads, bool causal) {
  for (int i = 0; i < count; ++i) {
    Value y = LayerNormalization({.epsilon = 1e-5})(x);
    x = x + MultiHeadAttention(heads, width / heads)(y, y, {.use_causal_mask = causal});
    x = x + feed_forward(LayerNormalization({.epsilon = 1e-5})(x), width);
  }
  return LayerNormalization({.epsilon = 1e-5})(x);
}

// One unit of a row's work: a training step, or a text.
using Work = std::function<void()>;

Work training_work(const Model& model, const Tensor& x, const Tensor& y) {
  model.compile({.optimizer = AdamW({.learning_rate = 1e-4}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return [=] {
    double loss = model.train_on_batch(x, y)["loss"];
    if (!(loss < 1e3)) throw Error("the loss is not finite");
  };
}

double median_ms_of(const Work& work) {
  Samples samples;
  work();
  for (int round = 0; round < 5; ++round) {
    double begin = now();
    work();
    samples.add(now() - begin);
  }
  return samples.median() * 1e3;
}

Work encoder() {
  Value ids = Input({128}, {.dtype = DType::int32});
  Value x = blocks(TokenAndPositionEmbedding(8192, 128, 256)(ids), 4, 256, 8, false);
  Model model(ids, Dense(2)(GlobalAveragePooling1D()(x)));
  return training_work(model, drawn_ids({16, 128}, 8192), drawn_ids({16}, 2));
}

Work vit() {
  Value image = Input({224, 224, 3});
  Value x = Reshape({196, 384})(Conv2D(384, 16, {.strides = 16})(image));
  x = blocks(x + PositionEmbedding(196)(x), 12, 384, 6, false);
  Model model(image, Dense(1000)(GlobalAveragePooling1D()(x)));
  return training_work(model, Tensor::full({4, 224, 224, 3}, 0.5), drawn_ids({4}, 1000));
}

Work generation(const Gpt& gpt) {
  Model model = gpt_model(gpt);
  TokenIds prompt;
  for (int64_t i = 0; i < 16; ++i) prompt.push_back(i * 7 % gpt.vocabulary);
  GenerateOptions options{.max_new_tokens = 200, .temperature = 0};
  return [=] { generate(model, prompt, options); };
}

struct TransformerRow {
  std::string name;
  double wanted;  // times as fast as the best peer; 0: only shown
  std::function<Work()> make;
};

std::vector<TransformerRow> transformer_rows() {
  auto gpt = [](const Gpt& sizes) { return [=] { return generation(sizes); }; };
  return {
      {"Transformer 4x256 b16 T128 step", 1.3, encoder},
      {"ViT-S/16 b4 step", 1.3, vit},
      {"generate 200, GPT 4x256 V256", 2, gpt({4, 256, 8, 256, 256})},
      {"generate 200, GPT 6x384 V8192", 2, gpt({6, 384, 6, 8192, 1024})},
      {"generate 200, GPT-2 124M", 0, gpt({12, 768, 12, 50257, 1024})},
  };
}

}  // namespace

Model gpt_model(const Gpt& gpt) {
  Value ids = Input({gpt.length}, {.dtype = DType::int32});
  TokenAndPositionEmbedding embed(gpt.vocabulary, gpt.length, gpt.width);
  return {ids, embed.reverse(blocks(embed(ids), gpt.layers, gpt.width, gpt.heads, true))};
}

void add_transformers(Report& report, const TransformerArguments& arguments) {
  for (const TransformerRow& each : transformer_rows()) {
    if (each.name.find(arguments.only) == std::string::npos) continue;
    Row row{.name = each.name,
            .value = median_ms_of(each.make()),
            .unit = "ms",
            .better = Better::lower,
            .peers = run_transformer_peer(arguments.peer, each.name)};
    double best = 1e30;
    for (const Peer& peer : row.peers) best = std::min(best, peer.value);
    if (!row.peers.empty()) {
      if (each.wanted > 0) row.bar = best / each.wanted;
      row.note = fmt::format("{:.2f}x the best peer", best / row.value);
    }
    report.add(row);
  }
}

int serve_transformer(const std::string& row) {
  for (const TransformerRow& each : transformer_rows())
    if (each.name == row) {
      Work work = each.make();
      work();
      return serve_steps([&](int64_t steps) {
        for (int64_t i = 0; i < steps; ++i) work();
      });
    }
  throw ValueError("bench_sequences: no row is called " + row);
}

}  // namespace stoker::bench
