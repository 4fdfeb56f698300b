// Augmentations of values: RandomBrightness … RandomErasing, RandomColorJitter, RandAugment.
#include "nn/layers/augment_layer.h"

namespace stoker {

using augment::Kind;

namespace {

constexpr const char* range_kind(Kind kind) {
  switch (kind) {
    case Kind::brightness:
      return "RandomBrightness";
    case Kind::contrast:
      return "RandomContrast";
    case Kind::hue:
      return "RandomHue";
    case Kind::saturation:
      return "RandomSaturation";
    case Kind::degeneration:
      return "RandomColorDegeneration";
    case Kind::sharpness:
      return "RandomSharpness";
    case Kind::posterization:
      return "RandomPosterization";
    default:
      return "RandomInvert";
  }
}

// A kind with one range.
template <Kind kind>
struct RangeConfig : ColorOptions {
  Factor factor = 1.0;
  static constexpr const char* kKind = range_kind(kind);
  static Fields<RangeConfig> fields() {
    return {{"factor", &RangeConfig::factor, {.required = kind != Kind::invert}},
            {"value_range", &RangeConfig::value_range}};
  }
  AugmentPasses passes(const std::string& owner) const {
    if (kind == Kind::posterization)
      return {{augment::posterization_stage(owner, factor, value_range)}};
    return {{augment::range_stage(owner, kind, factor, value_range)}};
  }
};

struct RandomGrayscaleConfig : LayerOptions {
  double factor = 0.5;
  static constexpr const char* kKind = "RandomGrayscale";
  static Fields<RandomGrayscaleConfig> fields() {
    return {{"factor", &RandomGrayscaleConfig::factor, between(0, 1)}};
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::grayscale_stage(owner, factor)}};
  }
};

struct SolarizationConfig : SolarizationOptions {
  static constexpr const char* kKind = "Solarization";
  static Fields<SolarizationConfig> fields() {
    using C = SolarizationConfig;
    return {{"addition_factor", &C::addition_factor},
            {"threshold_factor", &C::threshold_factor},
            {"value_range", &C::value_range}};
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::solarization_stage(owner, addition_factor, threshold_factor, value_range)}};
  }
};

struct AutoContrastConfig : ColorOptions {
  static constexpr const char* kKind = "AutoContrast";
  static constexpr bool kAlways = true;
  static Fields<AutoContrastConfig> fields() {
    return {{"value_range", &AutoContrastConfig::value_range}};
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::auto_contrast_stage(owner, value_range)}};
  }
};

struct EqualizationConfig : EqualizationOptions {
  static constexpr const char* kKind = "Equalization";
  static Fields<EqualizationConfig> fields() {
    return {{"value_range", &EqualizationConfig::value_range},
            {"bins", &EqualizationConfig::bins, between(2, augment::kMostBins)}};
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::equalization_stage(owner, bins, value_range)}};
  }
};

struct RandomGaussianBlurConfig : RandomGaussianBlurOptions {
  static constexpr const char* kKind = "RandomGaussianBlur";
  static Fields<RandomGaussianBlurConfig> fields() {
    using C = RandomGaussianBlurConfig;
    return {{"factor", &C::factor},
            {"kernel_size", &C::kernel_size, at_least(1)},
            {"sigma", &C::sigma},
            {"value_range", &C::value_range}};
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::blur_stage(owner, factor, kernel_size.height, kernel_size.width, sigma,
                                 value_range)}};
  }
};

struct RandomErasingConfig : RandomErasingOptions {
  static constexpr const char* kKind = "RandomErasing";
  static Fields<RandomErasingConfig> fields() {
    using C = RandomErasingConfig;
    return {{"factor", &C::factor},
            {"scale", &C::scale},
            {"fill_value", &C::fill_value},
            {"value_range", &C::value_range}};
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::erasing_stage(owner, factor, scale, fill_value, value_range)}};
  }
};

struct RandomColorJitterConfig : RandomColorJitterOptions {
  static constexpr const char* kKind = "RandomColorJitter";
  static Fields<RandomColorJitterConfig> fields() {
    using C = RandomColorJitterConfig;
    return {{"value_range", &C::value_range},
            {"brightness_factor", &C::brightness_factor},
            {"contrast_factor", &C::contrast_factor},
            {"saturation_factor", &C::saturation_factor},
            {"hue_factor", &C::hue_factor}};
  }
  AugmentPasses passes(const std::string& owner) const {
    AugmentPasses all;
    auto add = [&](Kind kind, const std::optional<Factor>& factor) {
      if (factor) all.push_back({augment::range_stage(owner, kind, *factor, value_range)});
    };
    add(Kind::brightness, brightness_factor);
    add(Kind::contrast, contrast_factor);
    add(Kind::saturation, saturation_factor);
    add(Kind::hue, hue_factor);
    return all;
  }
};

struct RandAugmentConfig : RandAugmentOptions {
  static constexpr const char* kKind = "RandAugment";
  static Fields<RandAugmentConfig> fields() {
    using C = RandAugmentConfig;
    return {{"value_range", &C::value_range},
            {"num_ops", &C::num_ops, at_least(1)},
            {"factor", &C::factor},
            {"interpolation", &C::interpolation, one_of({"bilinear", "nearest"})}};
  }
  AugmentPasses passes(const std::string& owner) const {
    auto stages = augment::rand_augment_stages(owner, factor, interpolation, value_range);
    return AugmentPasses(size_t(num_ops), stages);
  }
};

template <Kind kind>
using RangeLayer = AugmentLayer<RangeConfig<kind>>;

}  // namespace

RandomBrightness::RandomBrightness(Factor factor, const ColorOptions& options)
    : Layer(configured<RangeLayer<Kind::brightness>>({options, factor})) {}
RandomContrast::RandomContrast(Factor factor, const ColorOptions& options)
    : Layer(configured<RangeLayer<Kind::contrast>>({options, factor})) {}
RandomHue::RandomHue(Factor factor, const ColorOptions& options)
    : Layer(configured<RangeLayer<Kind::hue>>({options, factor})) {}
RandomSaturation::RandomSaturation(Factor factor, const ColorOptions& options)
    : Layer(configured<RangeLayer<Kind::saturation>>({options, factor})) {}
RandomColorDegeneration::RandomColorDegeneration(Factor factor, const ColorOptions& options)
    : Layer(configured<RangeLayer<Kind::degeneration>>({options, factor})) {}
RandomSharpness::RandomSharpness(Factor factor, const ColorOptions& options)
    : Layer(configured<RangeLayer<Kind::sharpness>>({options, factor})) {}
RandomInvert::RandomInvert(Factor factor, const ColorOptions& options)
    : Layer(configured<RangeLayer<Kind::invert>>({options, factor})) {}
RandomPosterization::RandomPosterization(Factor factor, const ColorOptions& options)
    : Layer(configured<RangeLayer<Kind::posterization>>({options, factor})) {}
RandomGrayscale::RandomGrayscale(double factor, const LayerOptions& options)
    : Layer(configured<AugmentLayer<RandomGrayscaleConfig>>({options, factor})) {}
Solarization::Solarization(const SolarizationOptions& options)
    : Layer(configured<AugmentLayer<SolarizationConfig>>({options})) {}
AutoContrast::AutoContrast(const ColorOptions& options)
    : Layer(configured<AugmentLayer<AutoContrastConfig>>({options})) {}
Equalization::Equalization(const EqualizationOptions& options)
    : Layer(configured<AugmentLayer<EqualizationConfig>>({options})) {}
RandomGaussianBlur::RandomGaussianBlur(const RandomGaussianBlurOptions& options)
    : Layer(configured<AugmentLayer<RandomGaussianBlurConfig>>({options})) {}
RandomErasing::RandomErasing(const RandomErasingOptions& options)
    : Layer(configured<AugmentLayer<RandomErasingConfig>>({options})) {}
RandomColorJitter::RandomColorJitter(const RandomColorJitterOptions& options)
    : Layer(configured<AugmentLayer<RandomColorJitterConfig>>({options})) {}
RandAugment::RandAugment(const RandAugmentOptions& options)
    : Layer(configured<AugmentLayer<RandAugmentConfig>>({options})) {}

void add_colour_augmentations(LayerKinds& kinds) {
  add_layer<RangeLayer<Kind::brightness>>(kinds);
  add_layer<RangeLayer<Kind::contrast>>(kinds);
  add_layer<RangeLayer<Kind::hue>>(kinds);
  add_layer<RangeLayer<Kind::saturation>>(kinds);
  add_layer<RangeLayer<Kind::degeneration>>(kinds);
  add_layer<RangeLayer<Kind::sharpness>>(kinds);
  add_layer<RangeLayer<Kind::invert>>(kinds);
  add_layer<RangeLayer<Kind::posterization>>(kinds);
  add_layer<AugmentLayer<RandomGrayscaleConfig>>(kinds);
  add_layer<AugmentLayer<SolarizationConfig>>(kinds);
  add_layer<AugmentLayer<AutoContrastConfig>>(kinds);
  add_layer<AugmentLayer<EqualizationConfig>>(kinds);
  add_layer<AugmentLayer<RandomGaussianBlurConfig>>(kinds);
  add_layer<AugmentLayer<RandomErasingConfig>>(kinds);
  add_layer<AugmentLayer<RandomColorJitterConfig>>(kinds);
  add_layer<AugmentLayer<RandAugmentConfig>>(kinds);
}

}  // namespace stoker
