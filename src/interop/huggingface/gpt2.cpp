#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/language_models.h>
#include <stoker/layers.h>

#include "interop/huggingface/config.h"
#include "interop/huggingface/weights.h"

namespace stoker::applications {

namespace {

constexpr double kDeviation = 0.02;

std::string checked_activation(const std::string& name) {
  std::string known = huggingface::activation_name(name);
  if (known.empty())
    throw ValueError(fmt::format(
        "gpt2: activation_function must be gelu_new, gelu, relu, silu or tanh, got \"{}\"", name));
  return known;
}

// Pre-norm: attention, then two dense layers, each added to what it read.
class Gpt2Block {
 public:
  Gpt2Block(const GPT2Config& config, int64_t index)
      : config_(config), name_(fmt::format("h.{}", index)) {}

  Value operator()(const Value& x) const {
    Value y = norm("ln_1")(x);
    MultiHeadAttention attention(config_.n_head, config_.n_embd / config_.n_head,
                                 {.dropout = config_.attn_pdrop,
                                  .kernel_initializer = RandomNormal({.stddev = kDeviation}),
                                  .name = name_ + ".attn"});
    Value mixed = x + Dropout(config_.resid_pdrop)(attention(y, y, {.use_causal_mask = true}));
    int64_t inner = config_.n_inner > 0 ? config_.n_inner : 4 * config_.n_embd;
    y = dense("mlp.c_fc", inner,
              checked_activation(config_.activation_function))(norm("ln_2")(mixed));
    return mixed + Dropout(config_.resid_pdrop)(dense("mlp.c_proj", config_.n_embd, "linear")(y));
  }

 private:
  Layer norm(const char* name) const {
    return LayerNormalization(
        {.epsilon = config_.layer_norm_epsilon, .name = fmt::format("{}.{}", name_, name)});
  }
  Layer dense(const char* name, int64_t units, const std::string& activation) const {
    return Dense(units, {.activation = activation,
                         .kernel_initializer = RandomNormal({.stddev = kDeviation}),
                         .name = fmt::format("{}.{}", name_, name)});
  }

  const GPT2Config& config_;
  std::string name_;
};

huggingface::Source gpt2_source(const std::string& layer, const std::string& weight) {
  std::string word = huggingface::tensor_word(weight);
  size_t cut = layer.find(".attn/");
  if (cut == std::string::npos) return {.tensor = layer + "." + word};
  std::string attention = layer.substr(0, cut + 5), child = layer.substr(cut + 6);
  if (child == "attention_output") return {.tensor = fmt::format("{}.c_proj.{}", attention, word)};
  int part = child == "query" ? 0 : child == "key" ? 1 : 2;
  return {.tensor = fmt::format("{}.c_attn.{}", attention, word), .part = part};
}

bool is_gpt2_buffer(const std::string& tensor) {
  return tensor.ends_with(".attn.bias") || tensor.ends_with(".attn.masked_bias");
}

}  // namespace

GPT2Config read_gpt2_config(const std::string& path) {
  huggingface::Config file(path, "gpt2");
  GPT2Config config;
  file.read("vocab_size", config.vocab_size);
  file.read("n_positions", config.n_positions);
  file.read("n_embd", config.n_embd);
  file.read("n_layer", config.n_layer);
  file.read("n_head", config.n_head);
  file.read("n_inner", config.n_inner);
  file.read("activation_function", config.activation_function);
  file.read_epsilon("layer_norm_epsilon", config.layer_norm_epsilon);
  file.read_rate("resid_pdrop", config.resid_pdrop);
  file.read_rate("embd_pdrop", config.embd_pdrop);
  file.read_rate("attn_pdrop", config.attn_pdrop);
  file.expect("scale_attn_weights", {true});
  file.expect("scale_attn_by_inverse_layer_idx", {false});
  file.expect("add_cross_attention", {false});
  file.expect("tie_word_embeddings", {true});
  if (huggingface::activation_name(config.activation_function).empty())
    file.fail("activation_function", "gelu_new, gelu, relu, silu or tanh");
  if (config.n_embd % config.n_head != 0)
    file.fail("n_head", fmt::format("a divisor of n_embd, {}", config.n_embd));
  return config;
}

Model gpt2(const GPT2Config& config) {
  if (config.n_head < 1 || config.n_embd % config.n_head != 0)
    throw ValueError(fmt::format("gpt2: expected n_embd to be a multiple of n_head, got {} and {}",
                                 config.n_embd, config.n_head));
  Initializer normal = RandomNormal({.stddev = kDeviation});
  Value ids = Input({-1}, {.dtype = DType::int32, .name = "input_ids"});
  ReversibleEmbedding tokens(config.vocab_size, config.n_embd,
                             {.embeddings_initializer = normal, .name = "wte"});
  Value x = tokens(ids);
  x = x + PositionEmbedding(config.n_positions, {.initializer = normal, .name = "wpe"})(x);
  x = Dropout(config.embd_pdrop)(x);
  for (int64_t i = 0; i < config.n_layer; ++i) x = Gpt2Block(config, i)(x);
  x = LayerNormalization({.epsilon = config.layer_norm_epsilon, .name = "ln_f"})(x);
  return Model(ids, tokens.reverse(x), {.name = "gpt2"});
}

void load_gpt2_weights(const Model& model, const std::string& path) {
  huggingface::load(model, path,
                    {.prefix = "transformer.",
                     .source = gpt2_source,
                     .passed_over = is_gpt2_buffer,
                     .tied = "lm_head.weight",
                     .tied_to = "wte.weight"},
                    "load_gpt2_weights");
}

Model load_gpt2(const std::string& folder) {
  Model model = gpt2(read_gpt2_config(folder + "/config.json"));
  load_gpt2_weights(model, folder + "/model.safetensors");
  return model;
}

}  // namespace stoker::applications
