// WeightNormalization around a Dense, Conv1D or Conv2D.
#include <algorithm>
#include <cmath>

#include "nn/layers/wrapped_kernel.h"

namespace stoker {

namespace {

// |v| over all axes but the last: [..., units] → [units].
Tensor lengths(const Tensor& v) {
  int64_t units = v.shape()[-1];
  std::vector<double> squares(size_t(units), 0.0);
  std::span<const float> values = v.values<float>();
  for (size_t i = 0; i < values.size(); ++i)
    squares[i % size_t(units)] += double(values[i]) * double(values[i]);
  std::vector<float> roots(squares.size());
  std::ranges::transform(squares, roots.begin(),
                         [](double square) { return float(std::sqrt(square)); });
  return Tensor::from(roots, {units});
}

class WeightNormalizationLayer : public KernelWrapper {
 public:
  WeightNormalizationLayer(const Layer& layer, const LayerOptions& options)
      : KernelWrapper(layer, options.name, "WeightNormalization", {"Dense", "Conv1D", "Conv2D"}) {}
  std::string kind() const override { return "WeightNormalization"; }

 protected:
  void build_own() override {
    g_ = add_weight("g", {kernel().shape()[-1]}, {.initializer = "ones"});
    g_.write(lengths(kernel().read()));
  }
  Value kernel_for(CallContext&) override { return ops::weight_norm(kernel(), g_, -1); }

 private:
  Variable g_;
};

}  // namespace

WeightNormalization::WeightNormalization(const Layer& layer, const LayerOptions& options)
    : Layer(std::make_shared<WeightNormalizationLayer>(layer, options), options.dtype) {}

void add_weight_normalization(LayerKinds& kinds) {
  auto make = [](const Attrs& attrs) { return WeightNormalization(wrapped_layer(attrs, {})); };
  kinds["WeightNormalization"] = {.make = make, .is = is_exactly<WeightNormalizationLayer>};
}

}  // namespace stoker
