// What a FeatureSpace is made of. Immutable once it is made; adapt() makes another.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <stoker/feature_space.h>
#include <stoker/text.h>

namespace stoker::utils {

// What adapt() found for one feature.
struct LearnedFeature {
  double mean = 0, variance = 1;
  std::vector<double> boundaries = {};
  std::optional<text::StringLookup> words = {};
  std::optional<text::IntegerLookup> numbers = {};
};

struct FeatureSpaceState {
  using Feature = FeatureSpace::Feature;
  using Columns = FeatureSpace::Columns;

  std::map<std::string, Feature> features;
  FeatureSpaceOptions options;
  std::map<std::string, LearnedFeature> learned = {};
  bool adapted = false;

  void check() const;  // ValueError for options that cannot be
  bool needs_adapt() const;
  void adapt(const Columns& columns);
  Columns encode(const Columns& columns) const;
  bool is_integer(const std::string& name) const;   // int64 in its output
  int64_t width_of(const std::string& name) const;  // of a feature or a cross in its output
  std::vector<std::string> names() const;           // features, then crosses, both sorted
  std::string to_json() const;
  static FeatureSpaceState from_json(const std::string& text);

 private:
  LearnedFeature learn(const std::string& name, const Tensor& column) const;
  Tensor preprocess(const std::string& name, const Tensor& column) const;  // float32 or int64 [n]
  int64_t cardinality(const std::string& name) const;
  const FeatureCross* cross_of(const std::string& name) const;
  int64_t bins_of(const Feature& feature) const;
  const std::string& mode_of(const std::string& name) const;  // float, int, one_hot
  // Files read and write what Feature keeps to itself.
  friend struct FeatureJson;
};

std::string name_of(const FeatureCross& cross);        // "a_X_b"
Tensor joined_rows(const std::vector<Tensor>& parts);  // [n] each, one behind the other

}  // namespace stoker::utils
