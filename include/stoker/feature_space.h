// A table as the input of a model: every feature by its kind, and all of them as one vector. Keras's
// utils.FeatureSpace.
//
//   utils::FeatureSpace space({{"age", "float_normalized"},
//                              {"thal", "string_categorical"},
//                              {"exercise", FeatureSpace::integer_hashed(8)}},
//                             {.crosses = {{{"thal", "exercise"}}}});
//   space.adapt({{"age", age}, {"thal", thal}, {"exercise", exercise}});
//   Tensor x = space({{"age", age}, …})["concat"];                   // float32 [n, space.output_size()]
//   auto train = table.map(space.on({"age", "thal", "exercise"})).batch(32);
//   Value inputs = Input({space.output_size()});
//
// Texts live on the host, so a FeatureSpace is a step before the model and not a layer: save() keeps it
// beside the model. Names, defaults and results are Keras's.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <stoker/dataset.h>
#include <stoker/tensor.h>

namespace stoker::utils {

struct FeatureSpaceState;  // defined inside the library

struct FeatureCross {
  std::vector<std::string> feature_names;
  std::optional<int64_t> crossing_dim = {};  // none: FeatureSpaceOptions::crossing_dim
  std::string output_mode = "one_hot";       // or "int"
};

struct FeatureSpaceOptions {
  std::string output_mode = "concat";  // or "dict": every feature apart, by its name
  std::vector<FeatureCross> crosses = {};
  int64_t crossing_dim = 32;
  int64_t hashing_dim = 32;              // of "integer_hashed" and "string_hashed" by name
  int64_t num_discretization_bins = 32;  // of "float_discretized" by name
};

struct CategoricalOptions {
  std::optional<int64_t> max_tokens = {};
  int64_t num_oov_indices = 1;
  std::string output_mode = "one_hot";  // or "int"
};

class FeatureSpace {
 public:
  // What a feature is; from its name, or with options by the functions below.
  class Feature {
   public:
    Feature(const char* kind) : Feature(std::string(kind)) {}
    Feature(std::string kind);  // ValueError lists the kinds
    const std::string& kind() const { return kind_; }

   private:
    friend class FeatureSpace;
    friend struct FeatureSpaceState;
    friend struct FeatureJson;
    std::string kind_;
    std::string output_mode_ = "one_hot";
    double scale_ = 1, offset_ = 0;
    int64_t num_bins_ = 0;  // 0: that of the space
    std::vector<double> bin_boundaries_ = {};
    CategoricalOptions categorical_ = {};
  };
  static Feature plain_float() { return {"float"}; }  // Keras: float, a word of C++
  static Feature float_normalized() { return {"float_normalized"}; }
  static Feature float_rescaled(double scale = 1, double offset = 0);
  static Feature float_discretized(int64_t num_bins, std::vector<double> bin_boundaries = {},
                                   const std::string& output_mode = "one_hot");
  static Feature integer_categorical(const CategoricalOptions& options = {});
  static Feature string_categorical(const CategoricalOptions& options = {});
  static Feature integer_hashed(int64_t num_bins, const std::string& output_mode = "one_hot");
  static Feature string_hashed(int64_t num_bins, const std::string& output_mode = "one_hot");
  static FeatureCross cross(std::vector<std::string> feature_names, int64_t crossing_dim,
                            const std::string& output_mode = "one_hot") {
    return {std::move(feature_names), crossing_dim, output_mode};
  }

  using Columns = std::map<std::string, Tensor>;  // [n] or [n, 1] each

  struct Named {
    std::string name;
    Feature feature;
  };
  FeatureSpace(std::initializer_list<Named> features, const FeatureSpaceOptions& options = {});
  explicit FeatureSpace(const std::map<std::string, Feature>& features,
                        const FeatureSpaceOptions& options = {});

  // Learns vocabularies, means and bins.
  void adapt(const Columns& columns);
  // The same from one epoch; names: of the dataset's components, in their order. Others may follow.
  void adapt(const data::Dataset& dataset, const std::vector<std::string>& names);

  // By name, features and then crosses, both sorted: float32 [n, width], or int64 [n, 1] of output_mode
  // "int". In concat mode all of them beside each other, as "concat" alone. ValueError before adapt(),
  // for a column that is missing or of another dtype.
  Columns operator()(const Columns& columns) const;
  int64_t output_size() const;  // of "concat"; ValueError in dict mode
  bool adapted() const;

  // As a step of Dataset::map: the first components are the columns of these names; their encoding comes
  // in their place ("concat", or by name in dict mode), what follows stays.
  data::FunctionRef on(const std::vector<std::string>& names) const;

  // As JSON. A file is not trusted: whatever is in it, loading ends in a FeatureSpace or a FileError.
  void save(const std::string& path) const;
  static FeatureSpace load(const std::string& path);

 private:
  FeatureSpace() = default;
  std::shared_ptr<const FeatureSpaceState> state_;
};

}  // namespace stoker::utils
