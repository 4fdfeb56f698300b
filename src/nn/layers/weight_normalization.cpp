// WeightNormalization around a Dense, Conv1D or Conv2D.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "nn/layers/affine_layer.h"
#include "nn/layers/families.h"

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

class WeightNormalizationLayer : public LayerBase {
 public:
  WeightNormalizationLayer(const Layer& layer, const LayerOptions& options)
      : inner_(std::dynamic_pointer_cast<AffineLayer>(layer.shared())) {
    std::string wraps = layer.shared() == nullptr ? "an empty Layer" : layer.base().kind();
    if (inner_ == nullptr || (wraps != "Dense" && wraps != "Conv2D" && wraps != "Conv1D"))
      fail_option(fmt::format("wraps a Dense, Conv1D or Conv2D, got {}", wraps));
    if (std::string name = options.name.empty() ? layer.name() : options.name; !name.empty())
      WeightNormalizationLayer::set_name(name);
  }

  std::string kind() const override { return "WeightNormalization"; }
  bool supports_masking() const override { return inner_->supports_masking(); }

  Attrs config() const override {
    Attrs attrs = {{"layer", inner_->kind()}};
    fields::put_nested(attrs, "layer", inner_->config());
    return attrs;
  }

  void build(const std::vector<Shape>& inputs) override {
    inner_->ensure_built(inputs);
    inner_->set_name(label());
    g_ = add_weight("g", {inner_->kernel().shape()[-1]}, {.initializer = "ones"});
    g_.write(lengths(inner_->kernel().read()));
  }

  Values call(const Values& inputs, CallContext& context) override {
    if (inputs.size() != 1) fail_input(fmt::format("expected 1 input, got {}", inputs.size()));
    Value kernel = ops::weight_norm(inner_->kernel(), g_, -1);
    return {inner_->forward_with(kernel, inputs[0], context)};
  }

  void set_name(std::string name) override {
    inner_->set_name(name);
    LayerBase::set_name(std::move(name));
  }

  void set_owner(std::string owner) override {
    inner_->set_owner(owner);
    LayerBase::set_owner(std::move(owner));
  }

  void set_trainable(bool trainable) override {
    inner_->set_trainable(trainable);
    LayerBase::set_trainable(trainable);
  }

  std::vector<Variable> weights() const override { return with_g(inner_->weights()); }
  std::vector<Variable> trainable_weights() const override {
    return trainable() ? with_g(inner_->trainable_weights()) : std::vector<Variable>();
  }

  void add_penalties(Graph& graph) const override { inner_->add_penalties(graph); }

 private:
  std::vector<Variable> with_g(std::vector<Variable> weights) const {
    if (g_.defined()) weights.push_back(g_);
    return weights;
  }

  std::shared_ptr<AffineLayer> inner_;
  Variable g_;
};

}  // namespace

WeightNormalization::WeightNormalization(const Layer& layer, const LayerOptions& options)
    : Layer(std::make_shared<WeightNormalizationLayer>(layer, options), options.dtype) {}

void add_weight_normalization(LayerKinds& kinds) {
  auto make = [](const Attrs& attrs) {
    return WeightNormalization(layer_from_config(attrs.get<std::string>("layer"),
                                                 attrs.get_or("name", std::string()),
                                                 fields::nested(attrs, "layer")));
  };
  kinds["WeightNormalization"] = {.make = make, .is = is_exactly<WeightNormalizationLayer>};
}

}  // namespace stoker
