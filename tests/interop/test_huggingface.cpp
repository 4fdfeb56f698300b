// GPT-2 and BERT from files in Hugging Face's layout, against record_huggingface.py. Weights are a
// function of their names.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/generate.h>
#include <stoker/language_models.h>
#include <stoker/layers.h>
#include <stoker/safetensors.h>

#include "support/onnx_files.h"
#include "support/temp_dir.h"
#include "train/model/model_base.h"

namespace stoker::test {
namespace {

using applications::BertConfig;
using applications::GPT2Config;

Tensor drawn(const std::string& name, const Shape& shape) {
  uint32_t key = 2166136261U;
  for (char letter : name) key = (key ^ uint8_t(letter)) * 16777619U;
  bool is_scale = name.ends_with(".weight") && (name.find("ln_") != std::string::npos ||
                                                name.find("LayerNorm") != std::string::npos);
  Tensor tensor(DType::float32, shape);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    uint32_t x = key + uint32_t(i) * 0x9E3779B9U;
    x = (x ^ x >> 16) * 0x85EBCA6BU;
    x = (x ^ x >> 13) * 0xC2B2AE35U;
    x ^= x >> 16;
    tensor.data_mut<float>()[i] = float((double(x) / 0x1p32 - 0.5) * 0.6 + double(is_scale));
  }
  return tensor;
}

const GPT2Config kGpt2{
    .vocab_size = 61, .n_positions = 16, .n_embd = 24, .n_layer = 2, .n_head = 3};
const BertConfig kBert{.vocab_size = 53,
                       .max_position_embeddings = 16,
                       .hidden_size = 24,
                       .num_hidden_layers = 2,
                       .num_attention_heads = 4,
                       .intermediate_size = 40};

// Names and shapes as Hugging Face has them.
std::map<std::string, Shape> gpt2_tensors() {
  int64_t d = kGpt2.n_embd;
  std::map<std::string, Shape> all = {{"wte.weight", {kGpt2.vocab_size, d}},
                                      {"wpe.weight", {kGpt2.n_positions, d}}};
  auto add = [&](const std::string& name, const Shape& weight) {
    all[name + ".weight"] = weight;
    all[name + ".bias"] = {weight[-1]};
  };
  for (int64_t i = 0; i < kGpt2.n_layer; ++i) {
    std::string h = fmt::format("h.{}.", i);
    add(h + "ln_1", {d});
    add(h + "attn.c_attn", {d, 3 * d});
    add(h + "attn.c_proj", {d, d});
    add(h + "ln_2", {d});
    add(h + "mlp.c_fc", {d, 4 * d});
    add(h + "mlp.c_proj", {4 * d, d});
  }
  add("ln_f", {d});
  return all;
}

std::map<std::string, Shape> bert_tensors() {
  int64_t d = kBert.hidden_size, inner = kBert.intermediate_size;
  std::map<std::string, Shape> all = {
      {"embeddings.word_embeddings.weight", {kBert.vocab_size, d}},
      {"embeddings.position_embeddings.weight", {kBert.max_position_embeddings, d}},
      {"embeddings.token_type_embeddings.weight", {2, d}}};
  auto add = [&](const std::string& name, const Shape& weight) {
    all[name + ".weight"] = weight;
    all[name + ".bias"] = {weight[0]};
  };
  add("embeddings.LayerNorm", {d});
  for (int64_t i = 0; i < kBert.num_hidden_layers; ++i) {
    std::string e = fmt::format("encoder.layer.{}.", i);
    for (const char* part : {"self.query", "self.key", "self.value", "output.dense"})
      add(e + "attention." + part, {d, d});
    add(e + "attention.output.LayerNorm", {d});
    add(e + "intermediate.dense", {inner, d});
    add(e + "output.dense", {d, inner});
    add(e + "output.LayerNorm", {d});
  }
  add("pooler.dense", {d, d});
  return all;
}

using Change = std::function<void(TensorMap&)>;

void write(const std::string& path, const std::map<std::string, Shape>& shapes,
           const std::string& prefix = "", const Change& change = {}) {
  TensorMap tensors;
  for (const auto& [name, shape] : shapes) tensors[prefix + name] = drawn(name, shape);
  if (change) change(tensors);
  save_safetensors(path, tensors);
}

Tensor recorded(const std::string& name) {
  return load_safetensors(std::string(STOKER_TEST_SOURCE_DIR) + "/interop/huggingface.safetensors")
      .at(name);
}

// 2·10⁻⁵ of the largest value: float32 against float64.
void expect_close(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  double most = std::max(std::abs(expected.max()), std::abs(expected.min()));
  for (int64_t i = 0; i < got.elements(); ++i)
    ASSERT_NEAR(got.at(i), expected.at(i), 2e-5 * most) << i;
}

Tensor ids(int32_t most = 60) {
  std::vector<int32_t> all = {5, 17, 3, 60, 0, 9, 33, 1, 1, 2, 40, 41, 42, 7};
  for (int32_t& id : all) id = std::min(id, most);
  return Tensor::from(all, {2, 7});
}
std::vector<Tensor> bert_inputs() {
  return {ids(52), Tensor::from<int32_t>({0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0}, {2, 7}),
          Tensor::from<int32_t>({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, {2, 7})};
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no FileError";
}

TEST(HuggingFace, Gpt2ComputesWhatTheOriginalDoes) {
  TempDir dir;
  Model model = applications::gpt2(kGpt2);
  for (const char* prefix : {"", "transformer."}) {
    write(dir / "gpt2.safetensors", gpt2_tensors(), prefix);
    applications::load_gpt2_weights(model, dir / "gpt2.safetensors");
    expect_close(model.predict(ids()), recorded("gpt2"));
  }
}

TEST(HuggingFace, BertComputesWhatTheOriginalDoes) {
  TempDir dir;
  Model model = applications::bert(kBert);
  for (const char* prefix : {"", "bert."}) {
    write(dir / "bert.safetensors", bert_tensors(), prefix);
    applications::load_bert_weights(model, dir / "bert.safetensors");
    std::vector<Tensor> outputs = model.predict_all(bert_inputs());
    expect_close(outputs[0], recorded("bert"));
    expect_close(outputs[1], recorded("pooled"));
  }
}

TEST(HuggingFace, OldNamesOfNormsAndTensorsThatAreNoWeightsArePassedOver) {
  TempDir dir;
  std::string path = dir / "bert.safetensors";
  write(path, bert_tensors(), "bert.", [](TensorMap& tensors) {
    tensors["bert.embeddings.LayerNorm.gamma"] = tensors.at("bert.embeddings.LayerNorm.weight");
    tensors["bert.embeddings.LayerNorm.beta"] = tensors.at("bert.embeddings.LayerNorm.bias");
    tensors.erase("bert.embeddings.LayerNorm.weight");
    tensors.erase("bert.embeddings.LayerNorm.bias");
    tensors["bert.embeddings.position_ids"] = Tensor::zeros({1, 16}, DType::int64);
    tensors["cls.predictions.bias"] = Tensor::zeros({53});
  });
  Model model = applications::bert(kBert);
  applications::load_bert_weights(model, path);
  expect_close(model.predict_all(bert_inputs())[0], recorded("bert"));
}

TEST(HuggingFace, Gpt2TakesItsBuffersAndItsTiedHead) {
  TempDir dir;
  std::string path = dir / "gpt2.safetensors";
  write(path, gpt2_tensors(), "transformer.", [](TensorMap& tensors) {
    tensors["lm_head.weight"] = tensors.at("transformer.wte.weight");
    tensors["transformer.h.0.attn.bias"] = Tensor::zeros({1, 1, 16, 16});
    tensors["transformer.h.1.attn.masked_bias"] = Tensor::zeros({});
  });
  Model model = applications::gpt2(kGpt2);
  applications::load_gpt2_weights(model, path);
  expect_close(model.predict(ids()), recorded("gpt2"));
  write(path, gpt2_tensors(), "", [](TensorMap& tensors) {
    tensors["lm_head.weight"] = Tensor::zeros({61, 24});
  });
  EXPECT_NE(message([&] { applications::load_gpt2_weights(model, path); }).find("differs from"),
            std::string::npos);
}

TEST(HuggingFace, HalfPrecisionFilesAreWidened) {
  TempDir dir;
  std::string path = dir / "gpt2.safetensors";
  write(path, gpt2_tensors(), "", [](TensorMap& tensors) {
    for (auto& [name, tensor] : tensors) tensor = tensor.cast(DType::bfloat16);
  });
  Model model = applications::gpt2(kGpt2);
  applications::load_gpt2_weights(model, path);
  EXPECT_EQ(model.get_weights()[0].dtype(), DType::float32);
}

TEST(HuggingFace, FilesThatDoNotFitAreNamedAndChangeNothing) {
  TempDir dir;
  std::string path = dir / "gpt2.safetensors";
  Model model = applications::gpt2(kGpt2);
  std::vector<Tensor> before = model.get_weights();
  auto loading = [&](const Change& change) {
    write(path, gpt2_tensors(), "transformer.", change);
    return message([&] { applications::load_gpt2_weights(model, path); });
  };
  std::string missing = loading([](TensorMap& t) { t.erase("transformer.h.1.mlp.c_fc.bias"); });
  EXPECT_NE(missing.find("missing: h.1.mlp.c_fc.bias"), std::string::npos) << missing;
  std::string extra =
      loading([](TensorMap& t) { t["transformer.h.2.ln_1.bias"] = Tensor::zeros({24}); });
  EXPECT_NE(extra.find("not known to the model: h.2.ln_1.bias"), std::string::npos) << extra;
  std::string wrong = loading([](TensorMap& t) {
    t["transformer.h.0.attn.c_attn.weight"] = Tensor::zeros({24, 71});
  });
  EXPECT_NE(wrong.find("h.0.attn.c_attn.weight\" is float32[24, 71], expected floats [24, 72]"),
            std::string::npos)
      << wrong;
  std::string numbers =
      loading([](TensorMap& t) { t["transformer.ln_f.bias"] = Tensor::zeros({24}, DType::int32); });
  EXPECT_NE(numbers.find("ln_f.bias"), std::string::npos) << numbers;
  std::string twice = loading([](TensorMap& t) { t["ln_f.bias"] = Tensor::zeros({24}); });
  EXPECT_NE(twice.find("there twice"), std::string::npos) << twice;
  EXPECT_EQ(model.get_weights(), before);
  EXPECT_NE(message([&] { applications::load_gpt2_weights(model, dir / "none"); }).find("none"),
            std::string::npos);
}

TEST(HuggingFace, AFolderHoldsAModelWithItsConfiguration) {
  TempDir dir;
  dir.write(
      "config.json",
      R"({"model_type": "gpt2", "vocab_size": 61, "n_positions": 16, "n_embd": 24, "n_layer": 2,
             "n_head": 3, "n_inner": null, "activation_function": "gelu_new", "attn_pdrop": 0.1,
             "layer_norm_epsilon": 1e-05, "architectures": ["GPT2LMHeadModel"]})");
  write(dir / "model.safetensors", gpt2_tensors());
  Model model = applications::load_gpt2(dir.path().string());
  expect_close(model.predict(ids()), recorded("gpt2"));
  EXPECT_EQ(
      generate(model, TokenIds{5, 17, 3}, {.max_new_tokens = 6, .temperature = 0}),
      generate(model, TokenIds{5, 17, 3}, {.max_new_tokens = 6, .temperature = 0, .cache = false}));
}

TEST(HuggingFace, ConfigurationsThatCannotBeFollowedAreNamed) {
  TempDir dir;
  std::string path = dir / "config.json";
  auto reading = [&](const std::string& text) {
    dir.write("config.json", text);
    return message([&] { applications::read_gpt2_config(path); });
  };
  EXPECT_NE(reading("[1, 2]").find("config.json"), std::string::npos);
  EXPECT_NE(reading("{").find("not JSON"), std::string::npos);
  EXPECT_NE(reading(R"({"model_type": "llama"})").find("model_type"), std::string::npos);
  EXPECT_NE(reading(R"({"n_layer": -3})").find("\"n_layer\": expected a whole number"),
            std::string::npos);
  EXPECT_NE(reading(R"({"n_embd": 1e30})").find("n_embd"), std::string::npos);
  EXPECT_NE(reading(R"({"n_head": 5})").find("a divisor of n_embd"), std::string::npos);
  EXPECT_NE(reading(R"({"resid_pdrop": 1.5})").find("resid_pdrop"), std::string::npos);
  EXPECT_NE(reading(R"({"activation_function": "laplace"})").find("laplace"), std::string::npos);
  EXPECT_NE(reading(R"({"add_cross_attention": true})").find("add_cross_attention"),
            std::string::npos);
}

TEST(OnnxRuntime, AgreesOnTransformers) {
  OnnxFiles files;
  Value input = Input({9}, {.dtype = DType::int32, .name = "ids"});
  files.add("gpt2", Model(input, applications::gpt2(kGpt2)(input)));
  Values three;
  for (const char* name : {"ids", "types", "mask"})
    three.push_back(Input({7}, {.dtype = DType::int32, .name = name}));
  Model encoder(three, applications::bert(kBert).call_all(three));
  export_onnx(encoder, files.path("bert"));
  std::vector<Tensor> x = bert_inputs(), y = encoder.predict_all(x);
  const Topology& topology = ModelAccess::base(encoder).topology("the test");
  files.add_case("bert", {{"ids", x[0]}, {"types", x[1]}, {"mask", x[2]}},
                 {{topology.output_names[0], y[0]}, {topology.output_names[1], y[1]}});
  STOKER_EXPECT_PEER("interop/check_onnx.py", files.dir());
}

}  // namespace
}  // namespace stoker::test
