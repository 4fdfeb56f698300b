// Models to save, and what loading says after their files were changed.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "formats/safetensors.h"
#include "support/temp_dir.h"
#include "train/helpers.h"

namespace stoker::test {

using Json = nlohmann::json;

class ModelFiles : public testing::Test {
 protected:
  OnDevice device_;
  TempDir dir_;
  std::string path_ = dir_ / "m.stoker";

  static Model branched() {
    Value a = Input({6}, {.name = "a"}), b = Input({6}, {.name = "b"});
    Dense shared(4, {.activation = "relu", .kernel_regularizer = L2(0.01)});
    Sequential inner({Input({4}), Dense(3), BatchNormalization()}, {.name = "inner"});
    Value joined = Concatenate()({inner(shared(a)), inner(shared(b))});
    Value scaled = joined * 2.0 + Tensor::from({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {6});
    return Model({a, b},
                 {Dense(2, {.activation = "softmax"})(scaled), ops::sum(scaled, {.axes = {1}})},
                 {.name = "branched"});
  }
  Sequential compiled() {
    Sequential model({Input({4}), Dense(5, {.activation = "relu"}), Dropout(0.2),
                      Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = Adam({.learning_rate = 0.02, .clipnorm = 1.0}),
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"}});
    return model;
  }
  // Saves `model`, changes the architecture's JSON, and gives the error of loading it.
  std::string error_after(const Model& model, const std::function<void(Json&)>& change,
                          const char* key = "architecture") {
    model.save(path_);
    SafetensorsFile file = read_safetensors(path_);
    Json json = Json::parse(file.metadata[key]);
    change(json);
    file.metadata[key] = json.dump();
    write_safetensors(path_, file);
    std::string text = error_of<FileError>([&] { load_model(path_); });
    EXPECT_EQ(text.rfind(path_, 0), 0U) << text;  // begins with the path
    return text;
  }
  std::string error_after_file(const Model& model,
                               const std::function<void(SafetensorsFile&)>& change) {
    model.save(path_);
    SafetensorsFile file = read_safetensors(path_);
    change(file);
    write_safetensors(path_, file);
    return error_of<FileError>([&] { load_model(path_); });
  }
};

}  // namespace stoker::test
