#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/language_models.h>
#include <stoker/layers.h>

#include "interop/huggingface/config.h"
#include "interop/huggingface/weights.h"

namespace stoker::applications {

namespace {

constexpr double kBertDeviation = 0.02;

// Post-norm: what a part reads and gives is added, then normalised.
class BertBlock {
 public:
  BertBlock(const BertConfig& config, int64_t index)
      : config_(config), name_(fmt::format("encoder.layer.{}", index)) {}

  Value operator()(const Value& x, const Value& seen) const {
    MultiHeadAttention attention(config_.num_attention_heads,
                                 config_.hidden_size / config_.num_attention_heads,
                                 {.dropout = config_.attention_probs_dropout_prob,
                                  .kernel_initializer = RandomNormal({.stddev = kBertDeviation}),
                                  .name = name_ + ".attention.self"});
    Value y = dropped(attention(x, x, {.value_mask = seen}));
    Value mixed = norm("attention.output.LayerNorm")(x + y);
    y = dense("intermediate.dense", config_.intermediate_size,
              huggingface::activation_name(config_.hidden_act))(mixed);
    y = dropped(dense("output.dense", config_.hidden_size, "linear")(y));
    return norm("output.LayerNorm")(mixed + y);
  }

 private:
  Value dropped(const Value& x) const { return Dropout(config_.hidden_dropout_prob)(x); }
  Layer norm(const char* name) const {
    return LayerNormalization(
        {.epsilon = config_.layer_norm_eps, .name = fmt::format("{}.{}", name_, name)});
  }
  Layer dense(const char* name, int64_t units, const std::string& activation) const {
    return Dense(units, {.activation = activation,
                         .kernel_initializer = RandomNormal({.stddev = kBertDeviation}),
                         .name = fmt::format("{}.{}", name_, name)});
  }

  const BertConfig& config_;
  std::string name_;
};

huggingface::Source bert_source(const std::string& layer, const std::string& weight) {
  std::string word = huggingface::tensor_word(weight);
  bool kernel = weight == "kernel";
  size_t cut = layer.find(".self/");
  if (cut == std::string::npos) {
    std::string other = weight == "gamma" || weight == "beta" ? layer + "." + weight : "";
    return {.tensor = layer + "." + word, .other = other, .transposed = kernel};
  }
  std::string attention = layer.substr(0, cut), child = layer.substr(cut + 6);
  std::string linear = child == "attention_output" ? "output.dense" : "self." + child;
  return {.tensor = fmt::format("{}.{}.{}", attention, linear, word), .transposed = kernel};
}

bool is_no_part_of_bert(const std::string& tensor) {
  return tensor == "embeddings.position_ids" || tensor.starts_with("cls.") ||
         tensor.starts_with("classifier.") || tensor.starts_with("qa_outputs.");
}

Layer bert_embedding(int64_t rows, const BertConfig& config, const char* name) {
  return Embedding(rows, config.hidden_size,
                   {.embeddings_initializer = RandomNormal({.stddev = kBertDeviation}),
                    .name = fmt::format("embeddings.{}", name)});
}

void check_bert(const BertConfig& config) {
  if (config.num_attention_heads < 1 || config.hidden_size % config.num_attention_heads != 0)
    throw ValueError(fmt::format(
        "bert: expected hidden_size to be a multiple of num_attention_heads, got {} and {}",
        config.hidden_size, config.num_attention_heads));
  if (huggingface::activation_name(config.hidden_act).empty())
    throw ValueError(
        fmt::format("bert: hidden_act must be gelu, gelu_new, relu, silu or tanh, got \"{}\"",
                    config.hidden_act));
}

}  // namespace

BertConfig read_bert_config(const std::string& path) {
  huggingface::Config file(path, "bert");
  BertConfig config;
  file.read("vocab_size", config.vocab_size);
  file.read("max_position_embeddings", config.max_position_embeddings);
  file.read("type_vocab_size", config.type_vocab_size);
  file.read("hidden_size", config.hidden_size);
  file.read("num_hidden_layers", config.num_hidden_layers);
  file.read("num_attention_heads", config.num_attention_heads);
  file.read("intermediate_size", config.intermediate_size);
  file.read("hidden_act", config.hidden_act);
  file.read_epsilon("layer_norm_eps", config.layer_norm_eps);
  file.read_rate("hidden_dropout_prob", config.hidden_dropout_prob);
  file.read_rate("attention_probs_dropout_prob", config.attention_probs_dropout_prob);
  file.expect("position_embedding_type", {"absolute"});
  file.expect("is_decoder", {false});
  file.expect("add_cross_attention", {false});
  if (huggingface::activation_name(config.hidden_act).empty())
    file.fail("hidden_act", "gelu, gelu_new, relu, silu or tanh");
  if (config.hidden_size % config.num_attention_heads != 0)
    file.fail("num_attention_heads",
              fmt::format("a divisor of hidden_size, {}", config.hidden_size));
  return config;
}

Model bert(const BertConfig& config) {
  check_bert(config);
  auto input = [](const char* name) { return Input({-1}, {.dtype = DType::int32, .name = name}); };
  Value ids = input("input_ids"), types = input("token_type_ids"), mask = input("attention_mask");
  Value x = bert_embedding(config.vocab_size, config, "word_embeddings")(ids);
  Value positions = PositionEmbedding(config.max_position_embeddings,
                                      {.initializer = RandomNormal({.stddev = kBertDeviation}),
                                       .name = "embeddings.position_embeddings"})(x);
  x = x + positions +
      bert_embedding(config.type_vocab_size, config, "token_type_embeddings")(types);
  x = LayerNormalization({.epsilon = config.layer_norm_eps, .name = "embeddings.LayerNorm"})(x);
  x = Dropout(config.hidden_dropout_prob)(x);
  Value seen = ops::not_equal(mask, 0);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) x = BertBlock(config, i)(x, seen);
  Value first = ops::squeeze(ops::slice(x, {0, 0, 0}, {-1, 1, -1}), 1);
  Value pooled =
      Dense(config.hidden_size, {.activation = "tanh",
                                 .kernel_initializer = RandomNormal({.stddev = kBertDeviation}),
                                 .name = "pooler.dense"})(first);
  return Model({ids, types, mask}, {x, pooled}, {.name = "bert"});
}

void load_bert_weights(const Model& model, const std::string& path) {
  huggingface::load(model, path,
                    {.prefix = "bert.", .source = bert_source, .passed_over = is_no_part_of_bert},
                    "load_bert_weights");
}

Model load_bert(const std::string& folder) {
  Model model = bert(read_bert_config(folder + "/config.json"));
  load_bert_weights(model, folder + "/model.safetensors");
  return model;
}

}  // namespace stoker::applications
