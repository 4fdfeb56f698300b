#include "nn/layers/wrapped_kernel.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/error.h>

namespace stoker {

KernelWrapper::KernelWrapper(const Layer& layer, const std::string& name,
                             const std::string& own_kind, const std::vector<std::string>& wraps)
    : inner_(std::dynamic_pointer_cast<AffineLayer>(layer.shared())) {
  std::string got = layer.shared() == nullptr ? "an empty Layer" : layer.base().kind();
  if (inner_ == nullptr || std::ranges::find(wraps, got) == wraps.end())
    throw ValueError(fmt::format("{}: wraps one of {}, got {}", titled(own_kind, name),
                                 fmt::join(wraps, ", "), got));
  if (std::string own = name.empty() ? layer.name() : name; !own.empty())
    KernelWrapper::set_name(own);
}

Attrs KernelWrapper::config() const {
  Attrs attrs = {{"layer", inner_->kind()}};
  fields::put_nested(attrs, "layer", inner_->config());
  return attrs;
}

void KernelWrapper::build(const std::vector<Shape>& inputs) {
  inner_->ensure_built(inputs);
  inner_->set_name(label());
  build_own();
}

Values KernelWrapper::call(const Values& inputs, CallContext& context) {
  if (inputs.size() != 1) fail_input(fmt::format("expected 1 input, got {}", inputs.size()));
  return {inner_->forward_with(kernel_for(context), inputs[0], context)};
}

void KernelWrapper::set_name(std::string name) {
  inner_->set_name(name);
  LayerBase::set_name(std::move(name));
}

void KernelWrapper::set_owner(std::string owner) {
  inner_->set_owner(owner);
  LayerBase::set_owner(std::move(owner));
}

void KernelWrapper::set_trainable(bool trainable) {
  inner_->set_trainable(trainable);
  LayerBase::set_trainable(trainable);
}

std::vector<Variable> KernelWrapper::weights() const {
  std::vector<Variable> all = inner_->weights();
  std::ranges::copy(LayerBase::weights(), std::back_inserter(all));
  return all;
}

std::vector<Variable> KernelWrapper::trainable_weights() const {
  if (!trainable()) return {};
  std::vector<Variable> learning = inner_->trainable_weights();
  std::ranges::copy(LayerBase::trainable_weights(), std::back_inserter(learning));
  return learning;
}

Layer wrapped_layer(const Attrs& attrs, const LayerFactories& custom) {
  return layer_from_config(attrs.get<std::string>("layer"), attrs.get_or("name", std::string()),
                           fields::nested(attrs, "layer"), custom);
}

}  // namespace stoker
