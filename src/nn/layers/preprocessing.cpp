// Rescaling and Normalization: any numeric input becomes float32 first.
#include <fmt/format.h>

#include "nn/config.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

class RescalingLayer : public SingleInputLayer {
 public:
  RescalingLayer(double scale, double offset, const LayerOptions& options)
      : SingleInputLayer(options.name), scale_(scale), offset_(offset) {}

  std::string kind() const override { return "Rescaling"; }
  Attrs config() const override { return {{"scale", scale_}, {"offset", offset_}}; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    Value scaled = as_float32(x) * scale_;
    return offset_ == 0 ? scaled : scaled + offset_;
  }

 private:
  double scale_, offset_;
};

// Of one feature.
struct Moments {
  double mean = 0, variance = 0;
};

// Per index of `axis` (per tensor when it is -1), two passes in double.
std::vector<Moments> moments(const Tensor& data, int axis) {
  const Shape& shape = data.shape();
  int64_t features = axis < 0 ? 1 : shape[axis], inner = 1;
  for (int later = axis + 1; axis >= 0 && later < shape.rank(); ++later) inner *= shape[later];
  std::vector<Moments> result(size_t(features), Moments{});
  auto feature = [&](int64_t i) -> Moments& { return result[size_t(i / inner % features)]; };
  double count = double(data.elements()) / double(features);
  for (int64_t i = 0; i < data.elements(); ++i) feature(i).mean += data.at(i);
  for (Moments& each : result) each.mean /= count;
  for (int64_t i = 0; i < data.elements(); ++i) {
    double distance = data.at(i) - feature(i).mean;
    feature(i).variance += distance * distance;
  }
  for (Moments& each : result) each.variance /= count;
  return result;
}

class AdaptableNormalizationLayer : public SingleInputLayer {
 public:
  explicit AdaptableNormalizationLayer(const NormalizationOptions& options)
      : SingleInputLayer(options.name), options_(options) {
    if (options.mean.size() != options.variance.size())
      fail_option(fmt::format("mean and variance go together, got {} and {} values",
                              options.mean.size(), options.variance.size()));
    if (!options.axis && options.mean.size() > 1)
      fail_option(fmt::format("without an axis there is one mean, got {}", options.mean.size()));
  }

  std::string kind() const override { return "Normalization"; }

  Attrs config() const override {
    Attrs attrs = {{"invert", options_.invert}};
    if (options_.axis) attrs.set("axis", int64_t(*options_.axis));
    if (!options_.mean.empty()) {
      attrs.set("mean", options_.mean);
      attrs.set("variance", options_.variance);
    }
    return attrs;
  }

  void adapt(const Tensor& data) {
    if (!options_.mean.empty())
      fail_option("it was made with mean and variance; adapt() is for a layer without them");
    if (!data.defined() || data.shape().rank() == 0 || data.elements() == 0)
      fail_input("adapt() expects data of shape [N, ..], got none");
    ensure_built({data.shape()});
    std::vector<Moments> found = moments(data, axis_of(data.shape()));
    if (int64_t(found.size()) != mean_.shape().elements())
      fail_input(
          fmt::format("data with {} features, which it was built for", mean_.shape().elements()),
          data.shape());
    write(found);
    count_.write(Tensor::full({}, double(data.elements()) / double(found.size()), DType::int64));
  }

 protected:
  void build_for(const Shape& input) override {
    features_ = options_.axis ? input[axis_of(input)] : 1;
    if (!options_.mean.empty()) return check_given(input);
    Shape shape = options_.axis ? Shape{features_} : Shape{};
    mean_ = add_weight("mean", shape, {.initializer = "zeros", .trainable = false});
    variance_ = add_weight("variance", shape, {.initializer = "ones", .trainable = false});
    count_ = add_weight("count", {},
                        {.initializer = "zeros", .trainable = false, .dtype = DType::int64});
  }

  Value forward(const Value& x, CallContext&) override {
    constexpr double kEpsilon = 1e-7;  // Keras's: a feature that never changes stays finite
    if (options_.axis && x.shape()[axis_of(x.shape())] != features_)
      fail_input(
          fmt::format("{} features in axis {}, which it was built for", features_, *options_.axis),
          x.shape());
    Shape shape = broadcast_shape(x.shape());
    Value mean = options_.mean.empty() ? ops::reshape(mean_, shape) : given(options_.mean, shape);
    Value variance =
        options_.mean.empty() ? ops::reshape(variance_, shape) : given(options_.variance, shape);
    Value deviation = ops::maximum(ops::sqrt(variance), kEpsilon);
    return options_.invert ? as_float32(x) * deviation + mean : (as_float32(x) - mean) / deviation;
  }

 private:
  int axis_of(const Shape& input) const {
    return options_.axis ? resolve_axis(*options_.axis, input) : -1;
  }

  void check_given(const Shape& input) const {
    auto values = int64_t(options_.mean.size());
    if (values != 1 && values != features_)
      fail_input(fmt::format("{} features, one for each mean given", values), input);
  }

  // Ones, but for the axis that has its own mean for each index.
  Shape broadcast_shape(const Shape& input) const {
    Shape shape;
    for (int axis = 0; axis < input.rank(); ++axis) shape = shape.prepend(1);
    if (options_.axis) shape.set(axis_of(input), features_);
    return shape;
  }

  Value given(const std::vector<double>& values, const Shape& shape) const {
    std::vector<float> floats;
    for (int64_t i = 0; i < features_; ++i)
      floats.push_back(float(values.size() == 1 ? values[0] : values[size_t(i)]));
    return Tensor::from(floats, shape);
  }

  void write(const std::vector<Moments>& found) {
    std::vector<float> means, variances;
    for (const Moments& each : found) {
      means.push_back(float(each.mean));
      variances.push_back(float(each.variance));
    }
    mean_.write(Tensor::from(means, mean_.shape()));
    variance_.write(Tensor::from(variances, variance_.shape()));
  }

  NormalizationOptions options_;
  int64_t features_ = 1;
  Variable mean_, variance_, count_;
};

Layer normalization_from(const Attrs& attrs) {
  NormalizationOptions options{.axis = std::nullopt,
                               .mean = config::numbers(attrs, "mean"),
                               .variance = config::numbers(attrs, "variance"),
                               .invert = attrs.get_or("invert", false)};
  if (attrs.has("axis")) options.axis = int(config::integer(attrs, "axis"));
  return Normalization(options);
}

}  // namespace

Rescaling::Rescaling(double scale, double offset, const LayerOptions& options)
    : Layer(std::make_shared<RescalingLayer>(scale, offset, options), options.dtype) {}

Normalization::Normalization(const NormalizationOptions& options)
    : Layer(std::make_shared<AdaptableNormalizationLayer>(options), options.dtype) {}

void Normalization::adapt(const Tensor& data) const {
  static_cast<AdaptableNormalizationLayer&>(base()).adapt(data);
}

void add_preprocessing_layers(LayerFactories& factories) {
  factories["Rescaling"] = [](const Attrs& attrs) {
    return Rescaling(config::number(attrs, "scale", 1), config::number(attrs, "offset", 0));
  };
  factories["Normalization"] = normalization_from;
}

}  // namespace stoker
