// MixUp, CutMix: pictures, and labels beside them.
#include <fmt/format.h>

#include "graph/op.h"
#include "nn/layers/augment_layer.h"

namespace stoker {

namespace {

struct MixUpConfig : LayerOptions {
  double alpha = 0.2;
  static constexpr const char* kKind = "MixUp";
  static constexpr bool kCut = false;
  static Fields<MixUpConfig> fields() { return {{"alpha", &MixUpConfig::alpha, above(0)}}; }
  Doubles alphas(const std::string&) const { return {alpha, alpha}; }
};

struct CutMixConfig : LayerOptions {
  Factor factor = 1.0;
  static constexpr const char* kKind = "CutMix";
  static constexpr bool kCut = true;
  static Fields<CutMixConfig> fields() {
    return {{"factor", &CutMixConfig::factor, between(0, 1)}};
  }
  // A single number f: 0 … f.
  Doubles alphas(const std::string&) const {
    return factor.high ? Doubles{factor.low, *factor.high} : Doubles{0, factor.low};
  }
};

class MixingBase : public LayerBase {
 protected:
  template <class Options>
  explicit MixingBase(const Options& options) {
    LayerBase::set_name(options.name);
  }
};

template <class Config>
class MixingLayer : public Configured<MixingBase, Config> {
 public:
  explicit MixingLayer(Config config) : Configured<MixingBase, Config>(std::move(config)) {
    Doubles alphas = this->options().alphas(this->title());
    if (!(alphas[0] <= alphas[1] && alphas[1] > 0))
      this->fail_option("factor is a number above 0, or a lowest and a highest one");
  }

  Values call(const Values& inputs, CallContext& context) override {
    if (inputs.empty() || inputs.size() > 2)
      this->fail_input(
          fmt::format("expected pictures, or pictures and labels, got {} inputs", inputs.size()));
    if (inputs[0].shape().rank() != 4)
      this->fail_input("4-D input [B, H, W, C]", inputs[0].shape());
    if (inputs.size() == 2 && (!is_floating(inputs[1].dtype()) || inputs[1].shape().rank() < 2))
      this->fail_input(fmt::format(
          "expected float labels [B, classes], got {}; ops::one_hot makes them of class ids",
          to_string(inputs[1].spec())));
    Values results = {as_float32(inputs[0])};
    if (inputs.size() == 2) results.push_back(as_float32(inputs[1]));
    if (!context.training()) return results;
    const Shape& pictures = inputs[0].shape();
    int64_t stream = context.next_stream();
    for (size_t i = 0; i < results.size(); ++i)
      results[i] = apply1("augment_mix", {results[i], context.random_state()},
                          {{"cut", Config::kCut},
                           {"alpha", this->options().alphas(this->title())},
                           {"size", Ints{pictures[1], pictures[2]}},
                           {"labels", i > 0},
                           {"stream", stream}});
    return results;
  }
};

}  // namespace

MixUp::MixUp(double alpha, const LayerOptions& options)
    : Layer(configured<MixingLayer<MixUpConfig>>({options, alpha})) {}
CutMix::CutMix(Factor factor, const LayerOptions& options)
    : Layer(configured<MixingLayer<CutMixConfig>>({options, factor})) {}

void add_mixing_layers(LayerKinds& kinds) {
  add_layer<MixingLayer<MixUpConfig>>(kinds);
  add_layer<MixingLayer<CutMixConfig>>(kinds);
}

}  // namespace stoker
