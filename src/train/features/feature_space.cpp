#include <stoker/feature_space.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/error.h>
#include <stoker/typed_function.h>

#include "base/file.h"
#include "train/features/feature_space_state.h"

namespace stoker::utils {

namespace {

constexpr auto kKinds = std::to_array<std::string_view>(
    {"float", "float_normalized", "float_rescaled", "float_discretized", "integer_categorical",
     "string_categorical", "integer_hashed", "string_hashed"});

constexpr const char* kConcat = "concat";

void expect_mode(const std::string& mode) {
  if (mode != "one_hot" && mode != "int")
    throw ValueError(
        fmt::format("FeatureSpace: output_mode is \"{}\", expected \"one_hot\" or \"int\"", mode));
}

// Columns of single elements in, their encoding out.
class FeatureStep final : public data::ElementFunction {
 public:
  FeatureStep(std::shared_ptr<const FeatureSpaceState> state, std::vector<std::string> names)
      : state_(std::move(state)), names_(std::move(names)) {}

  std::string name() const override { return "features"; }

  data::ElementSpec infer(const data::ElementSpec& in) const override {
    if (in.size() < names_.size())
      throw ShapeError(
          fmt::format("FeatureSpace: expected {} components ({}) and what follows them, "
                      "got {}",
                      names_.size(), fmt::join(names_, ", "), data::to_string(in)));
    for (size_t i = 0; i < names_.size(); ++i)
      if (in[i].shape.elements() != 1)
        throw ShapeError(
            fmt::format("FeatureSpace: \"{}\" has to be one value per element, got {}; "
                        "map before batch()",
                        names_[i], stoker::to_string(in[i])));
    data::ElementSpec out;
    if (state_->options.output_mode == kConcat) {
      int64_t width = 0;
      for (const std::string& each : state_->names()) width += state_->width_of(each);
      out.push_back({DType::float32, {width}});
    } else {
      for (const std::string& each : state_->names())
        out.push_back(
            {state_->is_integer(each) ? DType::int64 : DType::float32, {state_->width_of(each)}});
    }
    out.insert(out.end(), in.begin() + int64_t(names_.size()), in.end());
    return out;
  }

  void apply(std::span<const ConstTensorView> in, data::ElementWriter& out, Rng&) const override {
    FeatureSpace::Columns columns;
    for (size_t i = 0; i < names_.size(); ++i)
      columns[names_[i]] = data::typed::borrowed(in[i]).reshape({1});
    FeatureSpace::Columns made = state_->encode(columns);
    size_t next = 0;
    auto write = [&](const Tensor& row) {
      auto* to = static_cast<std::byte*>(out.put(next++, row.dtype(), {row.shape()[1]}));
      std::copy_n(static_cast<const std::byte*>(row.raw()), row.bytes(), to);
    };
    if (state_->options.output_mode == kConcat)
      write(made.at(kConcat));
    else
      for (const std::string& each : state_->names()) write(made.at(each));
    for (size_t i = names_.size(); i < in.size(); ++i) out.copy(next++, in[i]);
  }

  std::string identity() const override {
    return fmt::format("features {} {}", fmt::join(names_, ","), state_->to_json());
  }

 private:
  std::shared_ptr<const FeatureSpaceState> state_;
  std::vector<std::string> names_;
};

}  // namespace

FeatureSpace::Feature::Feature(std::string kind) : kind_(std::move(kind)) {
  if (std::ranges::find(kKinds, kind_) == kKinds.end())
    throw ValueError(fmt::format("FeatureSpace: unknown kind \"{}\"; there are {}", kind_,
                                 fmt::join(kKinds, ", ")));
}

FeatureSpace::Feature FeatureSpace::float_rescaled(double scale, double offset) {
  Feature feature("float_rescaled");
  feature.scale_ = scale;
  feature.offset_ = offset;
  return feature;
}

FeatureSpace::Feature FeatureSpace::float_discretized(int64_t num_bins,
                                                      std::vector<double> bin_boundaries,
                                                      const std::string& output_mode) {
  expect_mode(output_mode);
  Feature feature("float_discretized");
  feature.num_bins_ = num_bins;
  feature.bin_boundaries_ = std::move(bin_boundaries);
  feature.output_mode_ = output_mode;
  return feature;
}

FeatureSpace::Feature FeatureSpace::integer_categorical(const CategoricalOptions& options) {
  expect_mode(options.output_mode);
  Feature feature = "integer_categorical";
  feature.categorical_ = options;
  feature.output_mode_ = options.output_mode;
  return feature;
}

FeatureSpace::Feature FeatureSpace::string_categorical(const CategoricalOptions& options) {
  Feature feature = integer_categorical(options);
  feature.kind_ = "string_categorical";
  return feature;
}

FeatureSpace::Feature FeatureSpace::integer_hashed(int64_t num_bins,
                                                   const std::string& output_mode) {
  expect_mode(output_mode);
  Feature feature("integer_hashed");
  feature.num_bins_ = num_bins;
  feature.output_mode_ = output_mode;
  return feature;
}

FeatureSpace::Feature FeatureSpace::string_hashed(int64_t num_bins,
                                                  const std::string& output_mode) {
  Feature feature = integer_hashed(num_bins, output_mode);
  feature.kind_ = "string_hashed";
  return feature;
}

namespace {

std::map<std::string, FeatureSpace::Feature> by_name(
    std::initializer_list<FeatureSpace::Named> features) {
  std::map<std::string, FeatureSpace::Feature> named;
  for (const auto& [name, feature] : features)
    if (!named.emplace(name, feature).second)
      throw ValueError(fmt::format("FeatureSpace: two features are named \"{}\"", name));
  return named;
}

}  // namespace

FeatureSpace::FeatureSpace(std::initializer_list<Named> features,
                           const FeatureSpaceOptions& options)
    : FeatureSpace(by_name(features), options) {}

FeatureSpace::FeatureSpace(const std::map<std::string, Feature>& features,
                           const FeatureSpaceOptions& options) {
  FeatureSpaceState state{.features = features, .options = options};
  state.check();
  state.adapted = !state.needs_adapt();
  state_ = std::make_shared<const FeatureSpaceState>(std::move(state));
}

void FeatureSpace::adapt(const Columns& columns) {
  FeatureSpaceState state = *state_;
  state.adapt(columns);
  state_ = std::make_shared<const FeatureSpaceState>(std::move(state));
}

void FeatureSpace::adapt(const data::Dataset& dataset, const std::vector<std::string>& names) {
  constexpr int64_t kRows = 1024;
  std::map<std::string, std::vector<Tensor>> parts;
  for (const Batch& batch : dataset.batch(kRows)) {
    if (batch.size() < names.size())
      throw ShapeError(fmt::format("FeatureSpace: the dataset has {} components, expected {}",
                                   batch.size(), fmt::join(names, ", ")));
    for (size_t i = 0; i < names.size(); ++i)
      parts[names[i]].push_back(batch[i].reshape({-1}).clone());
  }
  Columns columns;
  for (const auto& [name, tensors] : parts) columns[name] = joined_rows(tensors);
  adapt(columns);
}

FeatureSpace::Columns FeatureSpace::operator()(const Columns& columns) const {
  return state_->encode(columns);
}

int64_t FeatureSpace::output_size() const {
  if (state_->options.output_mode != kConcat)
    throw ValueError(
        "FeatureSpace: output_size() is of output_mode \"concat\"; in dict mode every "
        "feature has its own");
  if (!state_->adapted) throw ValueError("FeatureSpace: call adapt() first");
  int64_t width = 0;
  for (const std::string& each : state_->names()) width += state_->width_of(each);
  return width;
}

bool FeatureSpace::adapted() const { return state_->adapted; }

data::FunctionRef FeatureSpace::on(const std::vector<std::string>& names) const {
  if (!state_->adapted)
    throw ValueError("FeatureSpace: call adapt() before it is a step of a dataset");
  for (const auto& [name, feature] : state_->features)
    if (std::ranges::find(names, name) == names.end())
      throw ValueError(fmt::format("FeatureSpace: no component is named \"{}\"; there are {}", name,
                                   fmt::join(names, ", ")));
  return std::make_shared<FeatureStep>(state_, names);
}

void FeatureSpace::save(const std::string& path) const {
  write_file_atomically(path, state_->to_json());
}

FeatureSpace FeatureSpace::load(const std::string& path) {
  std::string text = read_text(path);
  try {
    FeatureSpace space;
    space.state_ = std::make_shared<const FeatureSpaceState>(FeatureSpaceState::from_json(text));
    return space;
  } catch (const FileError&) {
    throw;
  } catch (const std::exception& error) {
    throw FileError(fmt::format("{}: not a FeatureSpace: {}", path, error.what()));
  }
}

}  // namespace stoker::utils
