// Model: what it is made of. Training is in model_training.cpp.
#include <stoker/model.h>

#include <algorithm>

#include <fmt/format.h>

#include "nn/layer_tree.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {

Model::Model(std::shared_ptr<ModelBase> base) : Layer(std::move(base)) {}

Model::Model(const Value& input, const Value& output, const ModelOptions& options)
    : Model(Values{input}, Values{output}, options) {}

Model::Model(const Values& inputs, const Values& outputs, const ModelOptions& options)
    : Model(std::make_shared<ModelBase>(inputs, outputs, options.name)) {}

Sequential::Sequential(std::initializer_list<Layer> layers, const ModelOptions& options)
    : Sequential(std::vector<Layer>(layers), options) {}

Sequential::Sequential(const std::vector<Layer>& layers, const ModelOptions& options)
    : Model(std::make_shared<ModelBase>(layers, options.name)) {}

void Sequential::add(const Layer& layer) const { impl().add(layer); }
Layer Sequential::pop() const { return impl().pop(); }

ModelBase& Model::impl() const {
  if (base_ == nullptr)
    throw Error("an empty Model was used: it was declared, but never given a model");
  return static_cast<ModelBase&>(*base_);
}

const std::vector<Layer>& Model::layers() const { return impl().layers(); }

Layer Model::get_layer(std::string_view name) const {
  Layer found = find_descendant(layers(), "", name);
  if (found.shared() != nullptr) return found;
  std::string names;
  for (const Layer& layer : layers())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", layer.name());
  throw ValueError(
      fmt::format("{} has no layer \"{}\"; its layers are: {}", impl().title(), name, names));
}

Layer Model::get_layer(int64_t index) const {
  auto count = int64_t(layers().size());
  if (index < -count || index >= count)
    throw ValueError(
        fmt::format("{} has {} layers, there is no layer {}", impl().title(), count, index));
  return layers()[size_t(index < 0 ? index + count : index)];
}

const Values& Model::inputs() const { return impl().topology("inputs()").inputs; }
const Values& Model::outputs() const { return impl().topology("outputs()").outputs; }

namespace {

Shape only_shape(const Values& values, const ModelBase& model, const char* what) {
  if (values.size() != 1)
    throw ValueError(fmt::format("{} has {} {}; their shapes are those of model.{}()",
                                 model.title(), values.size(), what, what));
  return values[0].shape();
}

}  // namespace

Shape Model::input_shape() const { return only_shape(inputs(), impl(), "inputs"); }
Shape Model::output_shape() const { return only_shape(outputs(), impl(), "outputs"); }

std::vector<std::string> Model::metrics_names() const {
  if (!compiled()) return {};
  return impl().trainer->compiled->evaluation->names();
}

Value Model::output_of(std::string_view layer) const {
  Layer wanted = get_layer(layer);
  for (const auto& node : impl().topology("output_of()").nodes)
    if (const Layer* called = layer_of(*node); called && *called == wanted)
      return Value(Value::Sketched{node, 0});
  throw ValueError(fmt::format("{}: layer \"{}\" is not used", impl().title(), layer));
}

std::vector<Tensor> Model::get_weights() const {
  Use use(impl().trainer->gate, "get_weights", UseMode::shared);
  return Layer::get_weights();
}

void Model::set_weights(const std::vector<Tensor>& values) const {
  Use use(impl().trainer->gate, "set_weights", UseMode::alone);
  Layer::set_weights(values);
}

std::vector<Variable> Model::trainable_variables() const { return impl().trainable_weights(); }

std::vector<Variable> Model::non_trainable_variables() const {
  std::vector<Variable> trainable = trainable_variables(), others;
  for (const Variable& variable : weights())
    if (std::ranges::find(trainable, variable) == trainable.end()) others.push_back(variable);
  return others;
}

int64_t Model::count_params() const {
  impl().topology("count_params()");
  return impl().parameters();
}

}  // namespace stoker
