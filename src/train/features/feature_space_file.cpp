// A FeatureSpace as JSON, and back.
#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/json.h"
#include "train/features/feature_space_state.h"

namespace stoker::utils {

using Json = nlohmann::ordered_json;

constexpr int64_t kFeatureSpaceFormat = 1;

struct FeatureJson {
  using Feature = FeatureSpace::Feature;

  static Json write(const Feature& feature, const LearnedFeature* learned) {
    Json json = {{"kind", feature.kind_},
                 {"output_mode", feature.output_mode_},
                 {"scale", feature.scale_},
                 {"offset", feature.offset_},
                 {"num_bins", feature.num_bins_},
                 {"bin_boundaries", feature.bin_boundaries_},
                 {"num_oov_indices", feature.categorical_.num_oov_indices}};
    if (feature.categorical_.max_tokens) json["max_tokens"] = *feature.categorical_.max_tokens;
    if (learned == nullptr) return json;
    json["mean"] = learned->mean;
    json["variance"] = learned->variance;
    json["boundaries"] = learned->boundaries;
    constexpr text::VocabularyOptions kOwn{.include_special_tokens = false};
    if (learned->words) json["words"] = learned->words->get_vocabulary(kOwn);
    if (learned->numbers) json["numbers"] = learned->numbers->get_vocabulary(kOwn);
    return json;
  }

  static Feature read(const Json& json) {
    Feature feature(json.at("kind").get<std::string>());
    feature.output_mode_ = json.at("output_mode").get<std::string>();
    if (feature.output_mode_ != "one_hot" && feature.output_mode_ != "int")
      throw ValueError(fmt::format("output_mode \"{}\"", feature.output_mode_));
    feature.scale_ = json.at("scale").get<double>();
    feature.offset_ = json.at("offset").get<double>();
    feature.num_bins_ = json.at("num_bins").get<int64_t>();
    feature.bin_boundaries_ = json.at("bin_boundaries").get<std::vector<double>>();
    feature.categorical_.num_oov_indices = json.at("num_oov_indices").get<int64_t>();
    if (json.contains("max_tokens"))
      feature.categorical_.max_tokens = json.at("max_tokens").get<int64_t>();
    return feature;
  }

  static LearnedFeature read_learned(const Json& json, const Feature& feature) {
    LearnedFeature found;
    found.mean = json.at("mean").get<double>();
    found.variance = json.at("variance").get<double>();
    found.boundaries = json.at("boundaries").get<std::vector<double>>();
    auto lookup = [&](auto options, const char* key) {
      options.max_tokens = feature.categorical_.max_tokens;
      options.num_oov_indices = feature.categorical_.num_oov_indices;
      options.vocabulary = json.at(key).get<decltype(options.vocabulary)>();
      return options;
    };
    if (feature.kind() == "string_categorical")
      found.words.emplace(lookup(text::StringLookupOptions(), "words"));
    if (feature.kind() == "integer_categorical")
      found.numbers.emplace(lookup(text::IntegerLookupOptions(), "numbers"));
    return found;
  }
};

std::string FeatureSpaceState::to_json() const {
  Json all = Json::object(), crosses = Json::array();
  for (const auto& [name, feature] : features) {
    auto found = learned.find(name);
    all[name] = FeatureJson::write(feature, found == learned.end() ? nullptr : &found->second);
  }
  for (const FeatureCross& cross : options.crosses)
    crosses.push_back({{"features", cross.feature_names},
                       {"crossing_dim", cross.crossing_dim.value_or(options.crossing_dim)},
                       {"output_mode", cross.output_mode}});
  return dump_json(Json{{"format", "stoker-feature-space"},
                        {"version", kFeatureSpaceFormat},
                        {"output_mode", options.output_mode},
                        {"hashing_dim", options.hashing_dim},
                        {"num_discretization_bins", options.num_discretization_bins},
                        {"adapted", adapted},
                        {"features", std::move(all)},
                        {"crosses", std::move(crosses)}});
}

FeatureSpaceState FeatureSpaceState::from_json(const std::string& text) {
  Json json = parse_ordered_json(text);
  if (!json.is_object() || json.value("format", "") != "stoker-feature-space")
    throw ValueError("it has no \"format\": \"stoker-feature-space\"");
  if (json.at("version").get<int64_t>() != kFeatureSpaceFormat)
    throw ValueError(fmt::format("its version is {}, expected {}", json.at("version").dump(),
                                 kFeatureSpaceFormat));
  FeatureSpaceState state;
  state.options.output_mode = json.at("output_mode").get<std::string>();
  state.options.hashing_dim = json.at("hashing_dim").get<int64_t>();
  state.options.num_discretization_bins = json.at("num_discretization_bins").get<int64_t>();
  state.adapted = json.at("adapted").get<bool>();
  for (const auto& [name, described] : json.at("features").items()) {
    Feature feature = FeatureJson::read(described);
    if (state.adapted && described.contains("mean"))
      state.learned[name] = FeatureJson::read_learned(described, feature);
    state.features.emplace(name, std::move(feature));
  }
  for (const Json& cross : json.at("crosses"))
    state.options.crosses.push_back({cross.at("features").get<std::vector<std::string>>(),
                                     cross.at("crossing_dim").get<int64_t>(),
                                     cross.at("output_mode").get<std::string>()});
  state.check();
  if (state.adapted && state.needs_adapt() && state.learned.size() != state.features.size())
    throw ValueError("it says that it is adapted, and lacks what was learned");
  return state;
}

}  // namespace stoker::utils
