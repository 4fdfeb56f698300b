// UnitNormalization.
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

struct UnitNormalizationConfig : UnitNormalizationOptions {
  static constexpr const char* kKind = "UnitNormalization";
  static Fields<UnitNormalizationConfig> fields() {
    return {{"axis", &UnitNormalizationConfig::axis, not_empty()}};
  }
};

class UnitNormalizationLayer : public Configured<SteadyLayer, UnitNormalizationConfig> {
 public:
  using Configured::Configured;

 protected:
  Value forward(const Value& x, CallContext&) override {
    constexpr double kShortest = 1e-24;  // Keras's epsilon of 1e-12, squared: zeros stay finite
    expect_float(x);
    Ints axes;
    for (int64_t axis : options().axis.list) axes.push_back(resolve_axis(axis, x.shape()));
    Value wide = as_float32(x);
    Value squares = ops::sum(ops::square(wide), {.axes = axes, .keepdims = true});
    return ops::cast(wide * ops::rsqrt(ops::maximum(squares, kShortest)), x.dtype());
  }
};

}  // namespace

UnitNormalization::UnitNormalization(const UnitNormalizationOptions& options)
    : Layer(configured<UnitNormalizationLayer>({options})) {}

void add_unit_normalization(LayerKinds& kinds) { add_layer<UnitNormalizationLayer>(kinds); }

}  // namespace stoker
