// What adapt() learns of a column, and how it is encoded.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/categories.h>
#include <stoker/category_layers.h>
#include <stoker/error.h>

#include "train/features/feature_space_state.h"

namespace stoker::utils {

namespace {

bool is_categorical(const std::string& kind) { return kind.ends_with("_categorical"); }
bool is_hashed(const std::string& kind) { return kind.ends_with("_hashed"); }
bool is_text(const std::string& kind) { return kind.starts_with("string_"); }
bool is_float(const std::string& kind) { return kind.starts_with("float"); }

// [n] or [n, 1] as [n]; a number alone as [1].
Tensor flat_column(const std::string& name, const std::string& kind, const Tensor& column) {
  const Shape& shape = column.shape();
  if (shape.rank() > 2 || (shape.rank() == 2 && shape[1] != 1))
    throw ShapeError(fmt::format("FeatureSpace: column \"{}\" is {}, expected [n] or [n, 1]", name,
                                 to_string(shape)));
  DType dtype = column.dtype();
  bool fits = is_text(kind)    ? dtype == DType::bytes
              : is_float(kind) ? dtype != DType::bytes
                               : is_integer(dtype) || dtype == DType::bool_;
  if (!fits)
    throw ValueError(fmt::format("FeatureSpace: column \"{}\" is {}, expected {} for {}", name,
                                 stoker::name(dtype),
                                 is_text(kind)    ? "texts (bytes)"
                                 : is_float(kind) ? "numbers"
                                                  : "whole numbers",
                                 kind));
  Tensor flat = column.reshape({-1});
  if (is_text(kind)) return flat;
  return flat.cast(is_float(kind) ? DType::float32 : DType::int64);
}

const Tensor& column_of(const FeatureSpace::Columns& columns, const std::string& name) {
  auto found = columns.find(name);
  if (found != columns.end()) return found->second;
  std::vector<std::string> given;
  for (const auto& [each, tensor] : columns) given.push_back(each);
  throw ValueError(fmt::format("FeatureSpace: column \"{}\" is missing; there are {}", name,
                               fmt::join(given, ", ")));
}

[[noreturn]] void fail_int(const std::string& name) {
  throw ValueError(
      fmt::format("FeatureSpace: \"{}\" has output_mode \"int\", which cannot stand beside "
                  "others in one vector; {{.output_mode = \"dict\"}}",
                  name));
}

Tensor one_hot_rows(const Tensor& ids, int64_t width) {
  Tensor rows = Tensor::zeros({ids.elements(), width}, DType::float32);
  for (int64_t row = 0; row < ids.elements(); ++row)
    rows.data_mut<float>()[row * width + ids.data<int64_t>()[row]] = 1;
  return rows;
}

// Tensors [n, width] beside each other.
Tensor beside(const std::vector<Tensor>& parts) {
  int64_t rows = parts[0].shape()[0], width = 0;
  for (const Tensor& part : parts) width += part.shape()[1];
  Tensor all(DType::float32, {rows, width});
  int64_t at = 0;
  for (const Tensor& part : parts) {
    int64_t columns = part.shape()[1];
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(part.data<float>() + row * columns, columns,
                  all.data_mut<float>() + row * width + at);
    at += columns;
  }
  return all;
}

}  // namespace

Tensor joined_rows(const std::vector<Tensor>& parts) {
  int64_t rows = 0, at = 0;
  for (const Tensor& part : parts) rows += part.elements();
  Tensor all(parts[0].dtype(), {rows});
  for (const Tensor& part : parts) {
    if (part.dtype() == DType::bytes)
      std::copy_n(part.data<std::string>(), part.elements(), all.data_mut<std::string>() + at);
    else
      std::copy_n(static_cast<const std::byte*>(part.raw()), part.bytes(),
                  static_cast<std::byte*>(all.raw_mut()) + size_t(at) * size_of(part.dtype()));
    at += part.elements();
  }
  return all;
}

std::string name_of(const FeatureCross& cross) {
  return fmt::format("{}", fmt::join(cross.feature_names, "_X_"));
}

void FeatureSpaceState::check() const {
  if (features.empty()) throw ValueError("FeatureSpace: there is no feature");
  if (options.output_mode != "concat" && options.output_mode != "dict")
    throw ValueError(
        fmt::format("FeatureSpace: output_mode is \"{}\", expected \"concat\" or \"dict\"",
                    options.output_mode));
  for (const auto& [name, feature] : features) {
    bool bins = is_hashed(feature.kind()) || feature.kind() == "float_discretized";
    if (bins && feature.bin_boundaries_.empty() && bins_of(feature) < 1)
      throw ValueError(fmt::format("FeatureSpace: \"{}\" has {} bins, expected 1 or more", name,
                                   bins_of(feature)));
    if (options.output_mode == "concat" && mode_of(name) == "int") fail_int(name);
  }
  for (const FeatureCross& cross : options.crosses) {
    if (cross.feature_names.size() < 2)
      throw ValueError("FeatureSpace: a cross takes two or more features");
    if (cross.output_mode != "one_hot" && cross.output_mode != "int")
      throw ValueError(
          fmt::format("FeatureSpace: output_mode of {} is \"{}\", expected \"one_hot\" or "
                      "\"int\"",
                      name_of(cross), cross.output_mode));
    if (options.output_mode == "concat" && cross.output_mode == "int") fail_int(name_of(cross));
    if (cross.crossing_dim.value_or(options.crossing_dim) < 1)
      throw ValueError(fmt::format("FeatureSpace: crossing_dim of {} is {}, expected 1 or more",
                                   name_of(cross),
                                   cross.crossing_dim.value_or(options.crossing_dim)));
    for (const std::string& name : cross.feature_names) {
      auto found = features.find(name);
      if (found == features.end())
        throw ValueError(fmt::format("FeatureSpace: the cross {} names \"{}\", which is no feature",
                                     name_of(cross), name));
      if (is_float(found->second.kind()) && found->second.kind() != "float_discretized")
        throw ValueError(
            fmt::format("FeatureSpace: the cross {} takes categories, but \"{}\" is {}",
                        name_of(cross), name, found->second.kind()));
    }
  }
}

bool FeatureSpaceState::needs_adapt() const {
  return std::ranges::any_of(features, [](const auto& entry) {
    const Feature& feature = entry.second;
    return is_categorical(feature.kind()) || feature.kind() == "float_normalized" ||
           (feature.kind() == "float_discretized" && feature.bin_boundaries_.empty());
  });
}

int64_t FeatureSpaceState::bins_of(const Feature& feature) const {
  if (feature.num_bins_ != 0) return feature.num_bins_;
  return is_hashed(feature.kind()) ? options.hashing_dim : options.num_discretization_bins;
}

LearnedFeature FeatureSpaceState::learn(const std::string& name, const Tensor& column) const {
  const Feature& feature = features.at(name);
  const std::string& kind = feature.kind();
  LearnedFeature found;
  Tensor flat = flat_column(name, kind, column);
  if (kind == "float_normalized") {
    double sum = 0, squares = 0, count = double(std::max<int64_t>(flat.elements(), 1));
    for (float x : flat.values<float>()) sum += x;
    found.mean = sum / count;
    for (float x : flat.values<float>()) squares += (x - found.mean) * (x - found.mean);
    found.variance = squares / count;
  } else if (kind == "float_discretized") {
    Discretization layer({.num_bins = bins_of(feature)});
    layer.adapt(flat);
    found.boundaries = layer.bin_boundaries();
  } else if (kind == "string_categorical") {
    found.words.emplace(
        text::StringLookupOptions{.max_tokens = feature.categorical_.max_tokens,
                                  .num_oov_indices = feature.categorical_.num_oov_indices});
    found.words->adapt(flat);
  } else if (kind == "integer_categorical") {
    found.numbers.emplace(
        text::IntegerLookupOptions{.max_tokens = feature.categorical_.max_tokens,
                                   .num_oov_indices = feature.categorical_.num_oov_indices});
    found.numbers->adapt(flat);
  }
  return found;
}

void FeatureSpaceState::adapt(const Columns& columns) {
  for (const auto& [name, feature] : features)
    learned[name] = learn(name, column_of(columns, name));
  adapted = true;
}

Tensor FeatureSpaceState::preprocess(const std::string& name, const Tensor& column) const {
  const Feature& feature = features.at(name);
  const std::string& kind = feature.kind();
  Tensor flat = flat_column(name, kind, column);
  if (is_hashed(kind)) return text::Hashing(bins_of(feature))(flat);
  if (kind == "string_categorical") return (*learned.at(name).words)(flat);
  if (kind == "integer_categorical") return (*learned.at(name).numbers)(flat);
  if (kind == "float_discretized") {
    const std::vector<double>& given = feature.bin_boundaries_;
    const std::vector<double>& boundaries = given.empty() ? learned.at(name).boundaries : given;
    std::vector<int64_t> bins;
    for (float x : flat.values<float>())
      bins.push_back(std::ranges::upper_bound(boundaries, double(x)) - boundaries.begin());
    return Tensor::from(bins, {flat.elements()});
  }
  double scale = feature.scale_, offset = feature.offset_;
  if (kind == "float_normalized") {
    constexpr double kLeast = 1e-7;  // Keras's epsilon
    scale = 1 / std::max(std::sqrt(learned.at(name).variance), kLeast);
    offset = -learned.at(name).mean * scale;
  }
  if (scale == 1 && offset == 0) return flat;
  Tensor scaled(DType::float32, flat.shape());
  for (int64_t i = 0; i < flat.elements(); ++i)
    scaled.data_mut<float>()[i] = float(double(flat.data<float>()[i]) * scale + offset);
  return scaled;
}

const FeatureCross* FeatureSpaceState::cross_of(const std::string& name) const {
  for (const FeatureCross& cross : options.crosses)
    if (name_of(cross) == name) return &cross;
  return nullptr;
}

const std::string& FeatureSpaceState::mode_of(const std::string& name) const {
  static const std::string kNumber = "float";
  if (const FeatureCross* cross = cross_of(name)) return cross->output_mode;
  const Feature& feature = features.at(name);
  bool number = is_float(feature.kind()) && feature.kind() != "float_discretized";
  return number ? kNumber : feature.output_mode_;
}

bool FeatureSpaceState::is_integer(const std::string& name) const { return mode_of(name) == "int"; }

int64_t FeatureSpaceState::cardinality(const std::string& name) const {
  if (const FeatureCross* cross = cross_of(name))
    return cross->crossing_dim.value_or(options.crossing_dim);
  const Feature& feature = features.at(name);
  if (is_hashed(feature.kind())) return bins_of(feature);
  if (feature.kind() == "float_discretized") {
    const std::vector<double>& given = feature.bin_boundaries_;
    return int64_t(given.empty() ? learned.at(name).boundaries.size() : given.size()) + 1;
  }
  const LearnedFeature& found = learned.at(name);
  return found.words ? found.words->vocabulary_size() : found.numbers->vocabulary_size();
}

int64_t FeatureSpaceState::width_of(const std::string& name) const {
  return mode_of(name) == "one_hot" ? cardinality(name) : 1;
}

std::vector<std::string> FeatureSpaceState::names() const {
  std::vector<std::string> all, crossed;
  for (const auto& [name, feature] : features) all.push_back(name);
  for (const FeatureCross& cross : options.crosses) crossed.push_back(name_of(cross));
  std::ranges::sort(crossed);
  all.insert(all.end(), crossed.begin(), crossed.end());
  return all;
}

FeatureSpace::Columns FeatureSpaceState::encode(const Columns& columns) const {
  if (!adapted) throw ValueError("FeatureSpace: call adapt() before it is used");
  Columns preprocessed;
  for (const auto& [name, feature] : features)
    preprocessed[name] = preprocess(name, column_of(columns, name));
  for (const FeatureCross& cross : options.crosses) {
    std::vector<Tensor> operands;
    for (const std::string& name : cross.feature_names) operands.push_back(preprocessed.at(name));
    preprocessed[name_of(cross)] =
        text::HashedCrossing(cross.crossing_dim.value_or(options.crossing_dim))(operands);
  }
  Columns made;
  std::vector<Tensor> parts;
  for (const std::string& name : names()) {
    const Tensor& column = preprocessed.at(name);
    Tensor rows = mode_of(name) == "one_hot" ? one_hot_rows(column, cardinality(name))
                                             : column.reshape({-1, 1});
    if (!parts.empty() && rows.shape()[0] != parts[0].shape()[0])
      throw ShapeError(fmt::format("FeatureSpace: column \"{}\" has {} rows, others {}", name,
                                   rows.shape()[0], parts[0].shape()[0]));
    parts.push_back(rows);
    made[name] = rows;
  }
  if (options.output_mode == "concat") return {{"concat", beside(parts)}};
  return made;
}

}  // namespace stoker::utils
