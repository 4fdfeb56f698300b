// RandomFlip, RandomRotation, RandomTranslation, RandomZoom, RandomShear, RandomPerspective.
#include "graph/op.h"
#include "nn/layers/augment_layer.h"

namespace stoker {

using augment::Stage;

Value augmented(const Value& pictures, const std::vector<Stage>& stages,
                std::array<int64_t, 2> size, CallContext& context) {
  Value state =
      context.training() ? context.random_state() : Value(Tensor::from<int64_t>({0, 0}, {2}));
  return apply1("augment", {pictures, state},
                {{"stages", augment::numbers_of(stages)},
                 {"size", Ints{size[0], size[1]}},
                 {"stream", context.next_stream()}});
}

namespace {

struct RandomFlipConfig : LayerOptions {
  std::string mode = "horizontal_and_vertical";
  static constexpr const char* kKind = "RandomFlip";
  static Fields<RandomFlipConfig> fields() {
    return {{"mode", &RandomFlipConfig::mode,
             one_of({"horizontal", "vertical", "horizontal_and_vertical"})}};
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::flip_stage(owner, mode)}};
  }
};

struct RandomRotationConfig : WarpOptions {
  Factor factor = 0.0;
  static constexpr const char* kKind = "RandomRotation";
  static Fields<RandomRotationConfig> fields() {
    using C = RandomRotationConfig;
    return Fields<C>{{"factor", &C::factor, {.required = true}}}.then(sampling_fields<C>());
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::rotation_stage(owner, factor, sampling_of(*this))}};
  }
};

struct RandomTranslationConfig : WarpOptions {
  Factor height_factor = 0.0, width_factor = 0.0;
  static constexpr const char* kKind = "RandomTranslation";
  static Fields<RandomTranslationConfig> fields() {
    using C = RandomTranslationConfig;
    return Fields<C>{{"height_factor", &C::height_factor, {.required = true}},
                     {"width_factor", &C::width_factor, {.required = true}}}
        .then(sampling_fields<C>());
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::translation_stage(owner, height_factor, width_factor, sampling_of(*this))}};
  }
};

struct RandomZoomConfig : RandomZoomOptions {
  Factor height_factor = 0.0;
  static constexpr const char* kKind = "RandomZoom";
  static Fields<RandomZoomConfig> fields() {
    using C = RandomZoomConfig;
    return Fields<C>{{"height_factor", &C::height_factor, {.required = true}},
                     {"width_factor", &C::width_factor}}
        .then(sampling_fields<C>());
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::zoom_stage(owner, height_factor, width_factor, sampling_of(*this))}};
  }
};

struct RandomShearConfig : WarpOptions {
  Factor x_factor = 0.0, y_factor = 0.0;
  static constexpr const char* kKind = "RandomShear";
  static Fields<RandomShearConfig> fields() {
    using C = RandomShearConfig;
    return Fields<C>{{"x_factor", &C::x_factor}, {"y_factor", &C::y_factor}}.then(
        sampling_fields<C>());
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::shear_stage(owner, x_factor, y_factor, sampling_of(*this))}};
  }
};

struct RandomPerspectiveConfig : RandomPerspectiveOptions {
  static constexpr const char* kKind = "RandomPerspective";
  static Fields<RandomPerspectiveConfig> fields() {
    using C = RandomPerspectiveConfig;
    return {{"factor", &C::factor},
            {"scale", &C::scale, between(0, 1)},
            {"interpolation", &C::interpolation, one_of({"bilinear", "nearest"})},
            {"fill_value", &C::fill_value}};
  }
  AugmentPasses passes(const std::string& owner) const {
    return {{augment::perspective_stage(owner, factor, scale,
                                        {"constant", interpolation, fill_value})}};
  }
};

using FlipLayer = AugmentLayer<RandomFlipConfig>;
using RotationLayer = AugmentLayer<RandomRotationConfig>;
using TranslationLayer = AugmentLayer<RandomTranslationConfig>;
using ZoomLayer = AugmentLayer<RandomZoomConfig>;
using ShearLayer = AugmentLayer<RandomShearConfig>;
using PerspectiveLayer = AugmentLayer<RandomPerspectiveConfig>;

}  // namespace

RandomFlip::RandomFlip(const std::string& mode, const LayerOptions& options)
    : Layer(configured<FlipLayer>({options, mode})) {}
RandomRotation::RandomRotation(Factor factor, const WarpOptions& options)
    : Layer(configured<RotationLayer>({options, factor})) {}
RandomTranslation::RandomTranslation(Factor height_factor, Factor width_factor,
                                     const WarpOptions& options)
    : Layer(configured<TranslationLayer>({options, height_factor, width_factor})) {}
RandomZoom::RandomZoom(Factor height_factor, const RandomZoomOptions& options)
    : Layer(configured<ZoomLayer>({options, height_factor})) {}
RandomShear::RandomShear(Factor x_factor, Factor y_factor, const WarpOptions& options)
    : Layer(configured<ShearLayer>({options, x_factor, y_factor})) {}
RandomPerspective::RandomPerspective(const RandomPerspectiveOptions& options)
    : Layer(configured<PerspectiveLayer>({options})) {}

void add_geometry_augmentations(LayerKinds& kinds) {
  add_layer<FlipLayer>(kinds);
  add_layer<RotationLayer>(kinds);
  add_layer<TranslationLayer>(kinds);
  add_layer<ZoomLayer>(kinds);
  add_layer<ShearLayer>(kinds);
  add_layer<PerspectiveLayer>(kinds);
}

}  // namespace stoker
