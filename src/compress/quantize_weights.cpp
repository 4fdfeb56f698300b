// quantize_weights(): int8 weights, float arithmetic.
#include <stoker/quantize.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/layer_options.h>

#include "compress/masks.h"
#include "compress/rebuild.h"

namespace stoker {

namespace {

using compress::TensorsByName;

// A matrix in int8, with one scale per column or per row.
struct Int8Matrix {
  Tensor codes, scales;
  double error = 0;
};

Int8Matrix int8_matrix(const Tensor& from, bool per_row) {
  constexpr double kMost = 127;
  int64_t rows = from.shape()[0], columns = from.shape()[1];
  const float* values = from.data<float>();
  std::vector<float> scales(size_t(per_row ? rows : columns), 0.0F);
  auto scale_of = [&](int64_t i) -> float& {
    return scales[size_t(per_row ? i / columns : i % columns)];
  };
  for (int64_t i = 0; i < rows * columns; ++i)
    scale_of(i) = std::max(scale_of(i), float(std::abs(double(values[i])) / kMost));
  for (float& scale : scales)
    if (!(scale >= 1e-30F)) scale = 1;
  Int8Matrix made{Tensor(DType::int8, from.shape()), Tensor::from(scales, {int64_t(scales.size())}),
                  0};
  double lost = 0, all = 0;
  for (int64_t i = 0; i < rows * columns; ++i) {
    auto scale = double(scale_of(i)), value = double(values[i]);
    double code = std::clamp(std::nearbyint(value / scale), -kMost, kMost);
    made.codes.data_mut<int8_t>()[i] = int8_t(code);
    lost += (value - code * scale) * (value - code * scale);
    all += value * value;
  }
  made.error = all > 0 ? std::sqrt(lost / all) : 0;
  return made;
}

int64_t weight_bytes(const Model& model) {
  int64_t bytes = 0;
  for (const Variable& weight : model.weights())
    bytes += weight.shape().elements() * int64_t(size_of(weight.dtype()));
  return bytes;
}

class WeightOnly {
 public:
  WeightOnly(const Model& model, const WeightOnlyOptions& options)
      : options_(options), weights_(compress::tensors_of(model)) {
    compress::check_names(model, options.layers, "quantize_weights");
    compress::check_names(model, options.exclude, "quantize_weights");
  }

  Layer make(const Layer& layer, const std::string& path) {
    Attrs config = full_config(layer.base());
    std::string reason = obstacle(layer, path, config);
    if (!reason.empty()) {
      if (compress::names_it(options_.layers, path))
        throw ValueError(
            fmt::format("quantize_weights: layer \"{}\" cannot be int8: {}", path, reason));
      if (reason != kNoCandidate) report.in_float.push_back({path, reason});
      return compress::made_again(layer, config, path, options_.custom_objects);
    }
    bool dense = layer.base().kind() == "Dense";
    std::string name = path + (dense ? "/kernel" : "/embeddings");
    compress::check_finite(name, weights_.at(name));
    Int8Matrix stored = int8_matrix(weights_.at(name), !dense);
    report.layers.push_back(
        {path, layer.base().kind() + (dense ? " → int8 weights" : " → int8 rows"), stored.error});
    weights_[name] = stored.codes;
    weights_[path + "/scale"] = stored.scales;
    Attrs own;
    for (const char* key :
         {"units", "use_bias", "activation", "input_dim", "output_dim", "mask_zero"})
      if (const Attr* attr = config.find(key)) own.set(key, *attr);
    return layer_from_config(dense ? "WeightOnlyDense" : "WeightOnlyEmbedding", layer.name(), own);
  }

  const TensorsByName& weights() const { return weights_; }

  QuantizeReport report;

 private:
  static constexpr const char* kNoCandidate = "only Dense and Embedding have int8 weights";

  std::string obstacle(const Layer& layer, const std::string& path, const Attrs& config) const {
    std::string kind = layer.base().kind();
    if ((kind != "Dense" && kind != "Embedding") || is_own_class(layer.base())) return kNoCandidate;
    if (compress::names_it(options_.exclude, path)) return "is in .exclude";
    bool asked = compress::names_it(options_.layers, path);
    if (!options_.layers.empty() && !asked) return "is not in .layers";
    if (config.get_or("activation", std::string()) == ActivationFunction::kCustom)
      return "its activation is a function of the program";
    int64_t elements = layer.weights()[0].shape().elements();
    if (!asked && elements < options_.minimum_elements)
      return fmt::format("its {} weights are fewer than .minimum_elements", elements);
    return {};
  }

  const WeightOnlyOptions& options_;
  TensorsByName weights_;
};

}  // namespace

Quantized quantize_weights(const Model& model, const WeightOnlyOptions& options) {
  WeightOnly work(model, options);
  Quantized made;
  made.model = rebuilt(
      model, [&](const Layer& layer, const std::string& path) { return work.make(layer, path); },
      "quantize_weights");
  if (work.report.layers.empty()) {
    std::string why;
    for (const KeptInFloat& one : work.report.in_float)
      why += fmt::format("{}{}: {}", why.empty() ? ": " : "; ", one.layer, one.reason);
    throw ValueError("quantize_weights: the model has no weights that can be int8" + why);
  }
  compress::write_weights(made.model, work.weights());
  made.report = std::move(work.report);
  made.report.weight_bytes_before = weight_bytes(model);
  made.report.weight_bytes_after = weight_bytes(made.model);
  return made;
}

}  // namespace stoker
