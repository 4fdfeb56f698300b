// SpectralNormalization around a Dense or a convolution.
#include <stoker/regularization_layers.h>

#include "nn/layers/wrapped_kernel.h"

namespace stoker {

namespace {

struct SpectralConfig : SpectralNormalizationOptions {
  static constexpr const char* kKind = "SpectralNormalization";
  static Fields<SpectralConfig> fields() {
    return {{"power_iterations", &SpectralConfig::power_iterations, at_least(1)}};
  }
};

// x / |x|; zeros stay finite.
Value unit_vector(const Value& x) {
  return x * ops::rsqrt(ops::maximum(ops::sum(ops::square(x)), 1e-24));
}

class SpectralNormalizationLayer : public KernelWrapper {
 public:
  using Config = SpectralConfig;
  SpectralNormalizationLayer(const Layer& layer, SpectralConfig options)
      : KernelWrapper(layer, options.name, SpectralConfig::kKind,
                      {"Dense", "Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D",
                       "Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"}),
        options_(std::move(options)) {
    fields_of<SpectralConfig>().check(title(), options_);
  }
  std::string kind() const override { return SpectralConfig::kKind; }
  Attrs config() const override {
    Attrs attrs = fields_of<SpectralConfig>().write(options_), inner = KernelWrapper::config();
    for (const auto& [name, value] : inner.entries()) attrs.set(name, value);
    return attrs;
  }

 protected:
  void build_own() override {
    u_ = add_weight("vector_u", {1, kernel().shape()[-1]},
                    {.initializer = TruncatedNormal({.stddev = 0.02}), .trainable = false});
  }

  // As Keras: the kernel itself becomes what is used, so that the optimiser moves on from there.
  Value kernel_for(CallContext& context) override {
    if (!context.training()) return kernel();
    Value w = context.current(kernel()), u = context.current(u_), v;
    Value matrix = ops::stop_gradient(ops::reshape(w, {-1, w.shape()[-1]}));
    for (int64_t i = 0; i < options_.power_iterations; ++i) {
      v = unit_vector(ops::matmul(u, matrix, {.transpose_b = true}));
      u = unit_vector(ops::matmul(v, matrix));
    }
    Value largest = ops::sum(ops::matmul(v, matrix) * u);
    Value zero = ops::equal(largest, 0.0);  // a kernel of zeros stays as it is
    context.update(u_, ops::where(zero, context.current(u_), u));
    context.update(kernel(), w / ops::where(zero, 1.0, largest));
    return context.current(kernel());
  }

 private:
  SpectralConfig options_;
  Variable u_;
};

Layer make_spectral(const Attrs& attrs, const LayerFactories& custom) {
  Attrs own;
  for (const auto& [name, value] : attrs.entries())
    if (name != "layer" && !name.starts_with("layer.")) own.set(name, value);
  return Layer(std::make_shared<SpectralNormalizationLayer>(wrapped_layer(attrs, custom),
                                                            layer_config<SpectralConfig>(own)));
}

}  // namespace

SpectralNormalization::SpectralNormalization(const Layer& layer,
                                             const SpectralNormalizationOptions& options)
    : Layer(std::make_shared<SpectralNormalizationLayer>(layer, SpectralConfig{options}),
            options.dtype) {}

void add_spectral_normalization(LayerKinds& kinds) {
  kinds[SpectralConfig::kKind] = {.wrap = make_spectral,
                                  .is = is_exactly<SpectralNormalizationLayer>,
                                  .fields = [] { return fields_of<SpectralConfig>().text(); }};
}

}  // namespace stoker
