// The networks of keras_applications.py, and what their weights are called.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/applications.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "formats/sha256.h"
#include "train/model/model_base.h"
#include "train/model/weight_paths.h"

namespace stoker::test {

using MakeModel = std::function<Model()>;
using ApplicationCases = std::map<std::string, MakeModel>;

inline std::vector<std::pair<std::string, Variable>> weights_by_name(const Model& model) {
  std::vector<std::pair<std::string, Variable>> sorted;
  for (const auto& [name, weight] : named_weights(ModelAccess::base(model)))
    sorted.emplace_back(name, weight);
  std::ranges::sort(sorted, {}, [](const auto& each) { return each.first; });
  return sorted;
}

// What applications.json says of a network.
inline nlohmann::json structure_of(const Model& model) {
  std::string text;
  auto weights = weights_by_name(model);
  for (const auto& [name, weight] : weights)
    text += (text.empty() ? "" : "\n") + name + " " + to_string(weight.shape());
  return {{"name", model.name()},
          {"weights", weights.size()},
          {"parameters", model.count_params()},
          {"sha256", sha256(std::as_bytes(std::span(text)))}};
}

inline const nlohmann::json& recorded_structures() {
  static const nlohmann::json all =
      nlohmann::json::parse(read_text(STOKER_TEST_SOURCE_DIR "/parity/applications.json"));
  return all["cases"];
}

inline void expect_structure(const std::string& name, const MakeModel& make) {
  EXPECT_EQ(structure_of(make()).dump(), recorded_structures()[name].dump())
      << name << "; python3 tests/parity/keras_applications.py \"" << name << "\" lists Keras's";
}

// Below 60 million weights.
inline ApplicationCases small_applications() {
  using namespace applications;
  return {
      {"VGG16 features", [] { return VGG16({.include_top = false}); }},
      {"VGG19 features", [] { return VGG19({.include_top = false, .pooling = "max"}); }},
      {"ResNet50", [] { return ResNet50(); }},
      {"ResNet50V2", [] { return ResNet50V2(); }},
      {"ResNet50 gray",
       [] {
         return ResNet50({.input_shape = {64, 48, 1}, .classes = 3});
       }},
      {"DenseNet121", [] { return DenseNet121(); }},
      {"DenseNet169", [] { return DenseNet169(); }},
      {"DenseNet201", [] { return DenseNet201(); }},
      {"Xception", [] { return Xception(); }},
      {"InceptionV3", [] { return InceptionV3(); }},
      {"InceptionResNetV2", [] { return InceptionResNetV2(); }},
      {"NASNetMobile", [] { return NASNetMobile(); }},
      {"EfficientNetB0", [] { return EfficientNetB0(); }},
      {"EfficientNetB0 gray",
       [] {
         return EfficientNetB0({.input_shape = {33, 47, 1}});
       }},
      {"EfficientNetB1", [] { return EfficientNetB1(); }},
      {"EfficientNetB2", [] { return EfficientNetB2(); }},
      {"EfficientNetB3", [] { return EfficientNetB3(); }},
      {"EfficientNetB4", [] { return EfficientNetB4(); }},
      {"EfficientNetV2B0", [] { return EfficientNetV2B0(); }},
      {"EfficientNetV2B0 plain", [] { return EfficientNetV2B0({.include_preprocessing = false}); }},
      {"EfficientNetV2B1", [] { return EfficientNetV2B1(); }},
      {"EfficientNetV2B2", [] { return EfficientNetV2B2(); }},
      {"EfficientNetV2B3", [] { return EfficientNetV2B3(); }},
      {"EfficientNetV2S", [] { return EfficientNetV2S(); }},
      {"ConvNeXtTiny", [] { return ConvNeXtTiny(); }},
      {"ConvNeXtTiny features",
       [] { return ConvNeXtTiny({.include_top = false, .pooling = "avg"}); }},
      {"ConvNeXtTiny named", [] { return ConvNeXtTiny({.classes = 5, .name = "mine"}); }},
      {"MobileNet", [] { return MobileNet(); }},
      {"MobileNet half", [] { return MobileNet({.alpha = 0.5, .depth_multiplier = 2}); }},
      {"MobileNetV2", [] { return MobileNetV2(); }},
      {"MobileNetV2 wide",
       [] {
         return MobileNetV2({.input_shape = {96, 96, 3}, .alpha = 1.4});
       }},
      {"MobileNetV3Small", [] { return MobileNetV3Small(); }},
      {"MobileNetV3Small minimalistic", [] { return MobileNetV3Small({.minimalistic = true}); }},
      {"MobileNetV3Large", [] { return MobileNetV3Large(); }},
      {"MobileNetV3Large wide", [] { return MobileNetV3Large({.alpha = 1.25}); }},
      {"MobileNetV3Large features",
       [] { return MobileNetV3Large({.alpha = 0.75, .include_top = false}); }},
  };
}

// The others take gigabytes.
inline ApplicationCases large_applications() {
  using namespace applications;
  return {
      {"VGG16", [] { return VGG16(); }},
      {"VGG19", [] { return VGG19(); }},
      {"ResNet101", [] { return ResNet101(); }},
      {"ResNet152", [] { return ResNet152(); }},
      {"ResNet101V2", [] { return ResNet101V2(); }},
      {"ResNet152V2", [] { return ResNet152V2(); }},
      {"NASNetLarge", [] { return NASNetLarge(); }},
      {"EfficientNetB5", [] { return EfficientNetB5(); }},
      {"EfficientNetB6", [] { return EfficientNetB6(); }},
      {"EfficientNetB7", [] { return EfficientNetB7(); }},
      {"EfficientNetV2M", [] { return EfficientNetV2M(); }},
      {"EfficientNetV2L", [] { return EfficientNetV2L(); }},
      {"ConvNeXtSmall", [] { return ConvNeXtSmall(); }},
      {"ConvNeXtBase", [] { return ConvNeXtBase(); }},
      {"ConvNeXtLarge", [] { return ConvNeXtLarge(); }},
      {"ConvNeXtXLarge", [] { return ConvNeXtXLarge(); }},
  };
}

}  // namespace stoker::test
