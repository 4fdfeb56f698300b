// The base of layers that augment pictures: a Config says its stages, the layer runs them.
#pragma once

#include <stoker/augmentation_layers.h>
#include <stoker/ops.h>

#include "base/augment_stages.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

template <>
struct FieldType<Factor> : fields::PlainField {
  static constexpr const char* kName = "a number or two";
  static void write(Attrs& attrs, std::string_view name, const Factor& value) {
    attrs.set(name, numbers(value));
  }
  static bool read(const Attrs& attrs, std::string_view name, Factor& value) {
    Doubles given;
    if (!FieldType<Doubles>::read(attrs, name, given)) return false;
    if (given.size() == 1) value = given[0];
    if (given.size() == 2) value = {given[0], given[1]};
    return given.size() == 1 || given.size() == 2;
  }
  static std::string text(const Factor& value) {
    return value.high ? fields::list_text({value.low, *value.high})
                      : fields::number_text(value.low);
  }
  static std::vector<double> numbers(const Factor& value) {
    if (value.high) return {value.low, *value.high};
    return {value.low};
  }
};

// One pass of op augment: one of the stages per sample. Without a random state in inference.
Value augmented(const Value& pictures, const std::vector<augment::Stage>& stages,
                std::array<int64_t, 2> size, CallContext& context);

template <class Config>
augment::Sampling sampling_of(const Config& config) {
  return {config.fill_mode, config.interpolation, config.fill_value};
}

template <class Config>
Fields<Config> sampling_fields() {
  return {{"fill_mode", &Config::fill_mode, one_of({"reflect", "wrap", "nearest", "constant"})},
          {"interpolation", &Config::interpolation, one_of({"bilinear", "nearest"})},
          {"fill_value", &Config::fill_value}};
}

// Config::passes(owner): stages for each pass, one after the other.
using AugmentPasses = std::vector<std::vector<augment::Stage>>;

template <class Config>
class AugmentLayer : public Configured<SingleInputLayer, Config> {
 public:
  explicit AugmentLayer(Config config)
      : Configured<SingleInputLayer, Config>(std::move(config)),
        passes_(this->options().passes(this->title())) {}

 protected:
  Value forward(const Value& x, CallContext& context) override {
    this->expect_image(x.shape());
    Value pictures = as_float32(x);
    constexpr bool kAlways = requires { Config::kAlways; };  // nothing is drawn
    if (!context.training() && !kAlways) return pictures;
    for (const auto& stages : passes_)
      pictures = augmented(pictures, stages, {x.shape()[1], x.shape()[2]}, context);
    return pictures;
  }

 private:
  AugmentPasses passes_;
};

}  // namespace stoker
