// AugMix and RandomElasticTransform: augmentations that are written with ops.
#include <cmath>

#include <fmt/format.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_image.h>
#include <stoker/ops_random.h>

#include "graph/functions/sampling.h"
#include "nn/layers/augment_layer.h"

namespace stoker {

namespace {

// Draws are constants for whatever learns.
Value shares(const Value& numbers) {
  return ops::stop_gradient(ops::reshape(numbers, {numbers.shape()[0], 1, 1, 1}));
}

struct AugMixConfig : AugMixOptions {
  static constexpr const char* kKind = "AugMix";
  static Fields<AugMixConfig> fields() {
    using C = AugMixConfig;
    return {{"value_range", &C::value_range},
            {"num_chains", &C::num_chains, at_least(1)},
            {"chain_depth", &C::chain_depth, at_least(1)},
            {"factor", &C::factor},
            {"alpha", &C::alpha, above(0)},
            {"all_ops", &C::all_ops},
            {"interpolation", &C::interpolation, one_of({"bilinear", "nearest"})}};
  }
};

class AugMixLayer : public Configured<SingleInputLayer, AugMixConfig> {
 public:
  explicit AugMixLayer(AugMixConfig config)
      : Configured(std::move(config)),
        stages_(augment::aug_mix_stages(title(), options().factor, options().interpolation,
                                        options().value_range, options().all_ops)) {}

 protected:
  Value forward(const Value& x, CallContext& context) override {
    expect_image(x.shape());
    Value pictures = as_float32(x);
    if (!context.training()) return pictures;
    int64_t batch = x.shape()[0];
    // Dirichlet: gamma variables, divided by their sum.
    Value gamma = ops::random::gamma({batch, options().num_chains}, options().alpha);
    Value weights = gamma / ops::sum(gamma, {.axes = {1}, .keepdims = true}), mixed;
    for (int64_t chain = 0; chain < options().num_chains; ++chain) {
      Value augmented_chain = pictures;
      for (int64_t depth = 0; depth < options().chain_depth; ++depth)
        augmented_chain =
            augmented(augmented_chain, stages_, {x.shape()[1], x.shape()[2]}, context);
      Value part = augmented_chain * shares(ops::slice(weights, {0, chain}, {batch, 1}));
      mixed = mixed.defined() ? mixed + part : part;
    }
    Value own = shares(ops::random::beta({batch}, options().alpha, options().alpha));
    const Factor& range = options().value_range;
    return ops::clip(own * pictures + (1.0 - own) * mixed, range.low, *range.high);
  }

 private:
  std::vector<augment::Stage> stages_;
};

struct RandomElasticTransformConfig : RandomElasticTransformOptions {
  static constexpr const char* kKind = "RandomElasticTransform";
  static Fields<RandomElasticTransformConfig> fields() {
    using C = RandomElasticTransformConfig;
    return Fields<C>{{"factor", &C::factor}, {"scale", &C::scale}}
        .then(sampling_fields<C>())
        .then({{"value_range", &C::value_range}});
  }
};

class RandomElasticTransformLayer
    : public Configured<SingleInputLayer, RandomElasticTransformConfig> {
 public:
  explicit RandomElasticTransformLayer(RandomElasticTransformConfig config)
      : Configured(std::move(config)),
        often_(augment::share_range(title(), "factor", options().factor)),
        scale_(augment::share_range(title(), "scale", options().scale)) {
    const Factor& range = options().value_range;
    if (!range.high || !(range.low < *range.high))
      fail_option("value_range: expected its lowest and its highest number");
  }

 protected:
  Value forward(const Value& x, CallContext& context) override {
    expect_image(x.shape());
    Value pictures = as_float32(x);
    if (!context.training() || scale_.high == 0 || often_.high == 0) return pictures;
    int64_t batch = x.shape()[0];
    Value chance = ops::random::uniform({batch}, {.minval = often_.low, .maxval = often_.high});
    Value happens = ops::less(ops::random::uniform({batch}), chance);
    Value chosen = ops::where(ops::reshape(happens, {batch, 1, 1, 1}), bent(pictures), pictures);
    const Factor& range = options().value_range;
    return ops::clip(ops::stop_gradient(chosen), range.low, *range.high);
  }

 private:
  // Keras's numbers: a field of deviation sigma, blurred by sigma, times alpha.
  Value bent(const Value& pictures) const {
    const Shape& shape = pictures.shape();
    double longer = double(std::max(shape[1], shape[2])),
           shorter = double(std::min(shape[1], shape[2]));
    Value scale = scale_.low == scale_.high
                      ? Value(Tensor::full({}, scale_.low))
                      : ops::random::uniform({}, {.minval = scale_.low, .maxval = scale_.high});
    Value alpha = scale * (0.1 * longer), sigma = scale * (0.05 * shorter);
    int64_t most = 3 * int64_t(0.05 * shorter * scale_.high);
    Value weights = kernel(sigma, most);
    Value noise = ops::random::normal({shape[0], shape[1], shape[2], 1}) * sigma;
    int64_t side = 2 * most + 1;
    Value down = ops::conv2d(noise, ops::reshape(weights, {side, 1, 1, 1}),
                             {.padding = {.top = most, .bottom = most}});
    Value smooth = ops::conv2d(down, ops::reshape(weights, {1, side, 1, 1}),
                               {.padding = {.left = most, .right = most}});
    Value by = ops::reshape(smooth * alpha, {shape[0], shape[1] * shape[2]});
    return ops::image::displaced(
        pictures, by, {options().interpolation, options().fill_mode, options().fill_value});
  }

  // A Gaussian of 6 · int(sigma) + 1 numbers in one of 2 · most + 1: sigma is drawn, sizes are not.
  static Value kernel(const Value& sigma, int64_t most) {
    Value at = ops::arange(-most, most + 1, 1, DType::float32);
    Value safe = ops::maximum(sigma, 1e-6), reach = ops::floor(sigma) * 3.0;
    Value bell = ops::where(ops::less_equal(ops::abs(at), reach),
                            ops::exp(ops::square(at / safe) * -0.5), 0.0);
    return bell / ops::sum(bell);
  }

  augment::Range often_, scale_;
};

}  // namespace

AugMix::AugMix(const AugMixOptions& options) : Layer(configured<AugMixLayer>({options})) {}
RandomElasticTransform::RandomElasticTransform(const RandomElasticTransformOptions& options)
    : Layer(configured<RandomElasticTransformLayer>({options})) {}

void add_composed_augmentations(LayerKinds& kinds) {
  add_layer<AugMixLayer>(kinds);
  add_layer<RandomElasticTransformLayer>(kinds);
}

}  // namespace stoker
