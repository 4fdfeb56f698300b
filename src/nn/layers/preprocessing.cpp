// Rescaling and Normalization: any numeric input becomes float32 first.
#include <fmt/format.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct RescalingConfig : LayerOptions {
  double scale = 1, offset = 0;
  static constexpr const char* kKind = "Rescaling";
  static Fields<RescalingConfig> fields() {
    return {{"scale", &RescalingConfig::scale}, {"offset", &RescalingConfig::offset}};
  }
};

class RescalingLayer : public Configured<SteadyLayer, RescalingConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    Value scaled = as_float32(x) * options().scale;
    return options().offset == 0 ? scaled : scaled + options().offset;
  }
};

struct NormalizationConfig : NormalizationOptions {
  static constexpr const char* kKind = "Normalization";
  static Fields<NormalizationConfig> fields() {
    using C = NormalizationConfig;
    return {{"invert", &C::invert},
            {"axis", &C::axis},
            {"mean", &C::mean, {.sparse = true}},
            {"variance", &C::variance, {.sparse = true}}};
  }
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

class AdaptableNormalizationLayer : public Configured<SteadyLayer, NormalizationConfig> {
 public:
  explicit AdaptableNormalizationLayer(NormalizationConfig config) : Configured(std::move(config)) {
    size_t means = options().mean.size(), variances = options().variance.size();
    if (means != variances)
      fail_option(
          fmt::format("mean and variance go together, got {} and {} values", means, variances));
    if (!options().axis && means > 1)
      fail_option(fmt::format("without an axis there is one mean, got {}", means));
  }

  void adapt(const Tensor& data) {
    if (!options().mean.empty())
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
    features_ = options().axis ? input[axis_of(input)] : 1;
    if (!options().mean.empty()) return check_given(input);
    Shape shape = options().axis ? Shape{features_} : Shape{};
    mean_ = add_weight("mean", shape, {.initializer = "zeros", .trainable = false});
    variance_ = add_weight("variance", shape, {.initializer = "ones", .trainable = false});
    count_ = add_weight("count", {},
                        {.initializer = "zeros", .trainable = false, .dtype = DType::int64});
  }

  Value forward(const Value& x, CallContext&) override {
    constexpr double kEpsilon = 1e-7;  // Keras's: a feature that never changes stays finite
    if (options().axis && x.shape()[axis_of(x.shape())] != features_)
      fail_input(
          fmt::format("{} features in axis {}, which it was built for", features_, *options().axis),
          x.shape());
    Shape shape = broadcast_shape(x.shape());
    Value mean = options().mean.empty() ? ops::reshape(mean_, shape) : given(options().mean, shape);
    Value variance =
        options().mean.empty() ? ops::reshape(variance_, shape) : given(options().variance, shape);
    Value deviation = ops::maximum(ops::sqrt(variance), kEpsilon);
    return options().invert ? as_float32(x) * deviation + mean : (as_float32(x) - mean) / deviation;
  }

 private:
  int axis_of(const Shape& input) const {
    return options().axis ? resolve_axis(*options().axis, input) : -1;
  }

  void check_given(const Shape& input) const {
    auto values = int64_t(options().mean.size());
    if (values != 1 && values != features_)
      fail_input(fmt::format("{} features, one for each mean given", values), input);
  }

  // Ones, but for the axis that has its own mean for each index.
  Shape broadcast_shape(const Shape& input) const {
    Shape shape;
    for (int axis = 0; axis < input.rank(); ++axis) shape = shape.prepend(1);
    if (options().axis) shape.set(axis_of(input), features_);
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

  int64_t features_ = 1;
  Variable mean_, variance_, count_;
};

}  // namespace

Rescaling::Rescaling(double scale, double offset, const LayerOptions& options)
    : Layer(configured<RescalingLayer>({options, scale, offset})) {}

Normalization::Normalization(const NormalizationOptions& options)
    : Layer(configured<AdaptableNormalizationLayer>({options})) {}

void Normalization::adapt(const Tensor& data) const {
  static_cast<AdaptableNormalizationLayer&>(base()).adapt(data);
}

void add_preprocessing_layers(LayerKinds& kinds) {
  add_layer<RescalingLayer>(kinds);
  // A file that says nothing of an axis means none.
  kinds["Normalization"] = layer_kind<AdaptableNormalizationLayer>([](const Attrs& attrs) {
    NormalizationConfig without_axis{{.axis = std::nullopt}};
    return configured<AdaptableNormalizationLayer>(layer_config(attrs, without_axis));
  });
}

}  // namespace stoker
