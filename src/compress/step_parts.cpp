// Layers that are several steps: a product and its activation, a separable convolution.
#include <fmt/format.h>
#include <stoker/layers.h>

#include "compress/step_maker.h"
#include "graph/ops/quantized.h"
#include "nn/layer_factory.h"

namespace stoker::compress {

namespace {

Layer activation_layer(const std::string& name, const std::string& activation) {
  return Activation(activation, {.name = name + "_activation"});
}

}  // namespace

// With its activation apart, where it has one.
void StepMaker::product(Step& step) {
  auto activation = product_config(step.layer).get_or("activation", std::string("linear"));
  if (activation == ActivationFunction::kCustom) {
    step.reason = "its activation is a function of the program";
    return;
  }
  if (int64_t products = products_of(step.layer); products > quantized::kMostProducts) {
    step.reason = fmt::format("its sums of {} products may not fit an int32", products);
    return;
  }
  step.kind = StepKind::product;
  if (activation == "linear") return;
  Parts parts = parts_of(step.layer, [&](const Layer& whole) {
    Attrs config = full_config(whole.base());
    config.set("activation", std::string("linear"));
    Layer bare = layer_from_config(whole.base().kind(), whole.name(), config);
    bare.base().ensure_built({spec(step.inputs[0]).shape});
    bare.set_weights(whole.get_weights());
    return Parts{bare, activation_layer(whole.name(), activation)};
  });
  follow(step, parts);
}

void StepMaker::separable(Step& step) {
  auto activation = step.layer.base().config().get_or("activation", std::string("linear"));
  if (activation == ActivationFunction::kCustom) {
    step.reason = "its activation is a function of the program";
    return;
  }
  step.kind = StepKind::product;
  Parts parts = parts_of(step.layer, [&](const Layer& whole) {
    Attrs config = full_config(whole.base());
    std::vector<Tensor> weights = whole.get_weights();
    bool sequence = whole.base().kind() == "SeparableConv1D";
    Attrs depthwise = {{"use_bias", false}}, pointwise;
    pointwise.set("kernel_size", sequence ? Attr(int64_t(1)) : Attr(Ints{1, 1}));
    for (const char* name :
         {"kernel_size", "strides", "padding", "dilation_rate", "depth_multiplier"})
      if (const Attr* attr = config.find(name)) depthwise.set(name, *attr);
    for (const char* name : {"filters", "use_bias"})
      if (const Attr* attr = config.find(name)) pointwise.set(name, *attr);
    Layer first = layer_from_config(sequence ? "DepthwiseConv1D" : "DepthwiseConv2D",
                                    whole.name() + "_depthwise", depthwise);
    Layer second = layer_from_config(sequence ? "Conv1D" : "Conv2D", whole.name(), pointwise);
    Shape input = spec(step.inputs[0]).shape;
    first.base().ensure_built({input});
    first.set_weights({weights[0]});
    second.base().ensure_built({input.with(-1, weights[1].shape()[-2])});
    second.set_weights({weights.begin() + 1, weights.end()});
    Parts made{first, second};
    if (activation != "linear") made.push_back(activation_layer(whole.name(), activation));
    return made;
  });
  follow(step, parts);
}

const StepMaker::Parts& StepMaker::parts_of(const Layer& whole,
                                            const std::function<Parts(const Layer&)>& make) {
  auto found = parts_.find(&whole.base());
  if (found == parts_.end()) found = parts_.emplace(&whole.base(), make(whole)).first;
  return found->second;
}

void StepMaker::follow(Step& step, const Parts& parts) {
  step.layer = parts[0];
  step.node = nullptr;
  rest_.assign(parts.begin() + 1, parts.end());
}

}  // namespace stoker::compress
