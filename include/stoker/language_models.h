// GPT-2 and BERT, and the weights that Hugging Face's files hold for them.
//
//   Model model = applications::load_gpt2("gpt2");  // a folder with config.json, model.safetensors
//   auto tokenizer = text::Tokenizer::load("gpt2/tokenizer.json");
//   auto ids = generate(model, tokenizer.encode("The sea").ids, {.max_new_tokens = 50});
//
// Layers are named after the tensors of the files, so that the map is a rule. In it, a layer's
// kernel, gamma and embeddings are the file's "weight", its bias and beta are the "bias".
//   GPT-2  "h.0.mlp.c_fc/kernel" is h.0.mlp.c_fc.weight, [inputs, outputs] in both. query, key and
//          value of "h.0.attn" are the thirds of the columns of h.0.attn.c_attn, attention_output is
//          h.0.attn.c_proj. The head is the transposed wte; lm_head.weight may be there and is the
//          same.
//   BERT   "encoder.layer.0.intermediate.dense/kernel" is the transposed …dense.weight. query, key
//          and value of "encoder.layer.0.attention.self" are its Linear layers, attention_output is
//          encoder.layer.0.attention.output.dense. LayerNorm's tensors may also be called gamma and
//          beta.
// Names may begin with "transformer." or "bert.". Buffers that hold no weights (attn.bias,
// attn.masked_bias, position_ids) and heads that the model does not have are passed over. Files are
// not trusted: tensors that are missing, not known or of another shape are a FileError that names
// them, and the model is as it was.
#pragma once

#include <cstdint>
#include <string>

#include <stoker/model.h>

namespace stoker::applications {

// The names of config.json.
struct GPT2Config {
  int64_t vocab_size = 50257;
  int64_t n_positions = 1024;
  int64_t n_embd = 768;
  int64_t n_layer = 12;
  int64_t n_head = 12;
  int64_t n_inner = 0;                           // 0: 4 · n_embd
  std::string activation_function = "gelu_new";  // gelu_new, gelu, relu, silu, tanh
  double layer_norm_epsilon = 1e-5;
  double resid_pdrop = 0.1, embd_pdrop = 0.1, attn_pdrop = 0.1;
};
// FileError for what the file asks for and this model does not have (scale_attn_by_inverse_layer_idx,
// add_cross_attention), and for values out of range.
GPT2Config read_gpt2_config(const std::string& path);
// input_ids [B, T], T up to n_positions → logits [B, T, vocab_size]. Initialised as GPT-2 was.
Model gpt2(const GPT2Config& config = {});
void load_gpt2_weights(const Model& model, const std::string& path);
// From config.json and model.safetensors of a folder.
Model load_gpt2(const std::string& folder);

struct BertConfig {
  int64_t vocab_size = 30522;
  int64_t max_position_embeddings = 512;
  int64_t type_vocab_size = 2;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  std::string hidden_act = "gelu";
  double layer_norm_eps = 1e-12;
  double hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1;
};
BertConfig read_bert_config(const std::string& path);
// input_ids, token_type_ids, attention_mask (0 hides a token), each [B, T] → the hidden states
// [B, T, hidden_size] and the pooled first one [B, hidden_size].
Model bert(const BertConfig& config = {});
void load_bert_weights(const Model& model, const std::string& path);
Model load_bert(const std::string& folder);

}  // namespace stoker::applications
