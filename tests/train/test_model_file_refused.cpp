// Files of models that cannot be: loading ends in one error, which names what is wrong.
#include <algorithm>

#include "train/model_files.h"

namespace stoker {
namespace {

using test::Json;
using test::says;

class ModelFileRefused : public test::ModelFiles {};

TEST_F(ModelFileRefused, OfANewerVersionIsRefused) {
  EXPECT_TRUE(says(
      error_after_file(compiled(), [](SafetensorsFile& file) { file.metadata["version"] = "3"; }),
      {"version 3"}));
}

TEST_F(ModelFileRefused, TensorsMustBeExactlyThose) {
  Sequential model = compiled();
  auto named = [](SafetensorsFile& file, const char* name) {
    return std::ranges::find(file.tensors, name, [](const auto& entry) { return entry.first; });
  };
  EXPECT_TRUE(says(error_after_file(model,
                                    [&](SafetensorsFile& file) {
                                      file.tensors.erase(named(file, "weights/dense/bias"));
                                    }),
                   {"\"weights/dense/bias\" is missing"}));
  EXPECT_TRUE(says(error_after_file(model,
                                    [&](SafetensorsFile& file) {
                                      file.tensors.erase(
                                          named(file, "optimizer/dense/bias/velocity"));
                                    }),
                   {"\"optimizer/dense/bias/velocity\" is missing"}));
  EXPECT_TRUE(says(error_after_file(model,
                                    [](SafetensorsFile& file) {
                                      file.tensors.emplace_back("weights/ghost", Tensor(1.0F));
                                    }),
                   {"\"weights/ghost\" belongs to nothing"}));
  EXPECT_TRUE(says(error_after_file(model,
                                    [&](SafetensorsFile& file) {
                                      named(file, "weights/dense/bias")->second =
                                          Tensor::zeros({6});
                                    }),
                   {"\"weights/dense/bias\" is float32[6], expected float32[5]"}));
  EXPECT_TRUE(says(error_after_file(model,
                                    [&](SafetensorsFile& file) {
                                      named(file, "random_state")->second = Tensor(1.0F);
                                    }),
                   {"random_state"}));
}

TEST_F(ModelFileRefused, ArchitecturesThatCannotBeAreRefused) {
  Sequential model = compiled();
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json["layers"][0]["kind"] = "Densest"; }),
                   {"layer 0", "Densest"}));
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json["layers"][0].erase("kind"); }),
                   {"layer 0", "\"kind\" is missing"}));
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json["layers"][0]["name"] = 3; }),
                   {"\"name\" is of the wrong type"}));
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json["layers"][2]["name"] = "dense"; }),
                   {"\"dense\""}));
  EXPECT_TRUE(
      says(error_after(model, [](Json& json) { json["layers"][0]["config"]["units"] = -5; }),
           {"layer 0"}));
  EXPECT_TRUE(
      says(error_after(model, [](Json& json) { json["layers"][0]["config"]["units"] = "many"; }),
           {"layer 0", "units"}));
  EXPECT_TRUE(
      says(error_after(model, [](Json& json) { json["layers"][0]["config"].erase("units"); }),
           {"layer 0", "units"}));
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json["layers"][0]["config"]["units"] = 7; }),
                   {"weights/dense/kernel"}));
  EXPECT_TRUE(says(error_after(model,
                               [](Json& json) {
                                 json["inputs"][0]["shape"] = {4, -2};
                               }),
                   {"shape"}));
  EXPECT_TRUE(says(error_after(model,
                               [](Json& json) {
                                 json["inputs"][0]["shape"] = {4, -1};
                               }),
                   {"needs a known size"}));
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json["inputs"][0]["dtype"] = "float99"; }),
                   {"float99"}));
  EXPECT_TRUE(
      says(error_after(model, [](Json& json) { json["inputs"] = Json::array(); }), {"no inputs"}));
  EXPECT_TRUE(
      says(error_after(model, [](Json& json) { json["kind"] = "Circular"; }), {"Circular"}));
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json = Json::array(); }), {"JSON object"}));
}

TEST_F(ModelFileRefused, ConnectionsThatCannotBeAreRefused) {
  Model model = branched();
  EXPECT_TRUE(says(error_after(model,
                               [](Json& json) {
                                 json["nodes"][0]["from"][0] = {"node", 3, 0};
                               }),
                   {"node 0", "stands before it"}));
  EXPECT_TRUE(says(error_after(model,
                               [](Json& json) {
                                 json["nodes"][2]["from"][0] = {"node", 2, 0};
                               }),
                   {"node 2", "no node 2"}));
  EXPECT_TRUE(says(error_after(model,
                               [](Json& json) {
                                 json["nodes"][0]["from"][0] = {"input", 2};
                               }),
                   {"no input 2"}));
  EXPECT_TRUE(says(error_after(model,
                               [](Json& json) {
                                 json["nodes"][0]["from"][0] = {"constant", 99};
                               }),
                   {"no constant 99"}));
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json["nodes"][0]["layer"] = 99; }),
                   {"no layer 99"}));
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json["nodes"][0]["from"] = Json::array(); }),
                   {"no inputs"}));
  EXPECT_TRUE(says(error_after(model, [](Json& json) { json["outputs"][0] = "there"; }),
                   {"refers to nothing"}));
  EXPECT_TRUE(
      says(error_after(model, [](Json& json) { json["outputs"] = Json::array(); }), {"output"}));
  EXPECT_TRUE(says(error_after(model,
                               [](Json& json) {
                                 for (Json& node : json["nodes"])
                                   if (node.contains("op")) node["op"] = "teleport";
                               }),
                   {"teleport"}));
  EXPECT_TRUE(says(error_after(model,
                               [](Json& json) {
                                 Json inner = json;
                                 for (int depth = 0; depth < 40; ++depth) {
                                   Json outer = {{"kind", "Sequential"},
                                                 {"name", "n"},
                                                 {"inputs", json["inputs"]},
                                                 {"layers", {inner}}};
                                   inner = outer;
                                 }
                                 json = inner;
                               }),
                   {"nested"}));
}

TEST_F(ModelFileRefused, TrainingSettingsThatCannotBeAreRefused) {
  Sequential model = compiled();
  auto after = [&](const std::function<void(Json&)>& change) {
    return error_after(model, change, "training");
  };
  EXPECT_TRUE(says(after([](Json& json) { json["optimizer"]["kind"] = "Magic"; }), {"Magic"}));
  EXPECT_TRUE(
      says(after([](Json& json) { json["optimizer"]["config"]["beta_1"] = 7.0; }), {"beta_1"}));
  EXPECT_TRUE(says(after([](Json& json) { json["losses"][0]["kind"] = "Regret"; }), {"Regret"}));
  EXPECT_TRUE(says(after([](Json& json) { json["losses"] = Json::array(); }), {"loss"}));
  EXPECT_TRUE(says(after([](Json& json) { json["metrics"][0]["kind"] = "Luck"; }), {"Luck"}));
  EXPECT_TRUE(says(after([](Json& json) { json.erase("run_plan"); }), {"run_plan"}));
  EXPECT_TRUE(says(after([](Json& json) { json["accumulated_batches"] = 12; }), {"12"}));
  EXPECT_TRUE(says(after([](Json& json) { json = 3; }), {"training settings"}));
}

// Every value of the JSON replaced by others: loading ends in a model or in one FileError.
TEST_F(ModelFileRefused, AnyMutationEndsInAModelOrAnError) {
  Model model = branched();
  model.compile({.loss = {"sparse_categorical_crossentropy", "mse"}});
  model.save(path_);
  const SafetensorsFile saved = read_safetensors(path_);
  for (const char* key : {"architecture", "training"}) {
    const Json original = Json::parse(saved.metadata.at(key));
    const Json flat = original.flatten();
    for (const auto& [pointer, value] : flat.items())
      for (const Json& replacement : {Json(-1), Json(1000003), Json("x"), Json(0.5), Json(),
                                      Json::array({1, 2, 3}), Json::object()}) {
        if (pointer.find("units") != std::string::npos && replacement == 1000003)
          continue;  // a real, if large, layer
        Json json = original;
        json[Json::json_pointer(pointer)] = replacement;
        SafetensorsFile file = saved;
        file.metadata[key] = json.dump();
        write_safetensors(path_, file);
        try {
          load_model(path_);
        } catch (const FileError&) {
        }
      }
  }
}

}  // namespace
}  // namespace stoker
