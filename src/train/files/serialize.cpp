#include <stoker/serialize.h>

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/field_types.h"
#include "nn/layer_factory.h"
#include "train/files/architecture.h"
#include "train/files/custom_objects.h"
#include "train/files/model_config.h"
#include "train/files/objects_json.h"
#include "train/model/model_base.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

// An option alone, as the options of layers hold it.
template <class T>
std::string option_text(const char* kind, const T& value) {
  Attrs config;
  FieldType<T>::write(config, "value", value);
  return dump_json(described(kind, config));
}

template <class T>
T option_from(const char* kind, std::string_view text) {
  Json json = parse_ordered_json(text);
  if (kind_of(json) != kind)
    throw ValueError(fmt::format("deserialize: expected a description of kind {}, got \"{}\"", kind,
                                 kind_of(json)));
  T value = {};
  if (!FieldType<T>::read(config_of(json), "value", value))
    throw ValueError(fmt::format("deserialize: the {} is {}", kind, to_string(config_of(json))));
  return value;
}

void expect_data(bool custom, const char* what) {
  if (custom)
    throw ValueError(
        fmt::format("serialize: the {} is a C++ function, which text cannot hold", what));
}

}  // namespace

std::string serialize(const Model& model) {
  std::vector<Tensor> constants;
  std::string text = architecture_to_json(ModelAccess::base(model), constants);
  if (!constants.empty())
    throw ValueError(fmt::format(
        "serialize: {} of \"{}\" ({}), which text cannot hold; Model::save writes them",
        constants.size() == 1 ? "a tensor is part of the ops" : "tensors are part of the ops",
        ModelAccess::base(model).label(), to_string(constants[0].spec())));
  return text;
}

std::string serialize(const Layer& layer) {
  if (layer.shared() == nullptr) throw ValueError("serialize: the layer is empty");
  if (ModelAccess::base(layer) != nullptr)
    throw ValueError(fmt::format(
        "serialize: the layer \"{}\" is a model; pass it as a Model, or Model::save writes it with "
        "its weights",
        layer.name()));
  Json json = described(layer.base().kind(), full_config(layer.base()));
  if (!layer.name().empty()) json["name"] = layer.name();
  if (is_own_class(layer.base())) json["custom"] = true;
  return dump_json(json);
}

std::string serialize(const Loss& loss) {
  if (!loss.defined()) throw ValueError("serialize: the loss is undefined");
  return dump_json(described(loss));
}

std::string serialize(const Metric& metric) { return dump_json(described(metric)); }

std::string serialize(const Optimizer& optimizer) {
  if (!optimizer.defined()) throw ValueError("serialize: the optimiser is undefined");
  return dump_json(described(optimizer));
}

std::string serialize(const LearningRateSchedule& schedule) {
  if (!schedule.defined()) throw ValueError("serialize: the schedule is undefined");
  Json json = described(schedule.kind(), schedule.config());
  if (schedule.custom()) json["custom"] = true;
  return dump_json(json);
}

std::string serialize(const Initializer& initializer) {
  expect_data(initializer.kind() == Initializer::kCustom, "initialiser");
  return dump_json(described(initializer.kind(), initializer.config()));
}

std::string serialize(const Regularizer& regularizer) {
  expect_data(regularizer.kind() == Regularizer::kCustom, "regulariser");
  return option_text("Regularizer", regularizer);
}

std::string serialize(const Constraint& constraint) {
  expect_data(constraint.kind() == Constraint::kCustom, "constraint");
  return option_text("Constraint", constraint);
}

std::string serialize(const ActivationFunction& activation) {
  expect_data(activation.name() == ActivationFunction::kCustom, "activation");
  return option_text("Activation", activation);
}

template <>
Model deserialize(std::string_view text, const CustomObjects& objects) {
  return ModelAccess::wrap(architecture_from_json(text, {}, with_registered(objects).layers));
}

template <>
Layer deserialize(std::string_view text, const CustomObjects& objects) {
  Json json = parse_ordered_json(text);
  std::string name = json.contains("name") && json["name"].is_string()
                         ? json["name"].get<std::string>()
                         : std::string();
  bool own = json.contains("custom") && json["custom"] == true;
  return layer_from_config(kind_of(json), name, config_of(json),
                           with_models(with_registered(objects).layers), {.own = own});
}

template <>
Loss deserialize(std::string_view text, const CustomObjects& objects) {
  return loss_from_json(parse_ordered_json(text), with_registered(objects));
}

template <>
Metric deserialize(std::string_view text, const CustomObjects& objects) {
  return metric_from_json(parse_ordered_json(text), with_registered(objects));
}

template <>
Optimizer deserialize(std::string_view text, const CustomObjects& objects) {
  return optimizer_from_json(parse_ordered_json(text), with_registered(objects));
}

template <>
LearningRateSchedule deserialize(std::string_view text, const CustomObjects& objects) {
  Json json = parse_ordered_json(text);
  std::string kind = kind_of(json);
  const auto schedules = with_registered(objects).schedules;
  if (auto own = schedules.find(kind); own != schedules.end()) return own->second;
  return LearningRateSchedule::from_config(kind, config_of(json));
}

template <>
Initializer deserialize(std::string_view text, const CustomObjects&) {
  Json json = parse_ordered_json(text);
  return {kind_of(json), config_of(json)};
}

template <>
Regularizer deserialize(std::string_view text, const CustomObjects&) {
  return option_from<Regularizer>("Regularizer", text);
}

template <>
Constraint deserialize(std::string_view text, const CustomObjects&) {
  return option_from<Constraint>("Constraint", text);
}

template <>
ActivationFunction deserialize(std::string_view text, const CustomObjects&) {
  return option_from<ActivationFunction>("Activation", text);
}

}  // namespace stoker
