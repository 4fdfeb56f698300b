// What a program is made of as JSON text, and back: models, layers, losses, metrics, optimisers,
// schedules, initialisers, regularisers, constraints and activations. The text holds the kind and its
// options, as model files do, never weights or state; Model::save writes models with both.
//
//   std::string text = serialize(Dense(10, {.activation = "relu"}));
//   Layer same = deserialize<Layer>(text);
//
// What is C++ code of the program (a Lambda, an own loss) is written by its name; deserialize() takes it
// from custom objects, as load_model does. Text is not trusted: whatever is wrong with it is a
// ValueError that says what.
#pragma once

#include <string>
#include <string_view>

#include <stoker/layer_options.h>
#include <stoker/model.h>

namespace stoker {

// The architecture: deserialize<Model> gives the same one with weights of its own, not compiled.
// ValueError where ops of the model use tensors, which text cannot hold.
// Keras: `Model.to_json`
std::string serialize(const Model& model);
std::string serialize(const Layer& layer);  // ValueError for a model that is held as a Layer
std::string serialize(const Loss& loss);
std::string serialize(const Metric& metric);
std::string serialize(const Optimizer& optimizer);
std::string serialize(const LearningRateSchedule& schedule);
std::string serialize(const Initializer& initializer);
std::string serialize(const Regularizer& regularizer);
std::string serialize(const Constraint& constraint);
std::string serialize(const ActivationFunction& activation);

// For the ten types above.
template <class T>
T deserialize(std::string_view text, const CustomObjects& objects = {});

template <>
Model deserialize(std::string_view text, const CustomObjects& objects);
template <>
Layer deserialize(std::string_view text, const CustomObjects& objects);
template <>
Loss deserialize(std::string_view text, const CustomObjects& objects);
template <>
Metric deserialize(std::string_view text, const CustomObjects& objects);
template <>
Optimizer deserialize(std::string_view text, const CustomObjects& objects);
template <>
LearningRateSchedule deserialize(std::string_view text, const CustomObjects& objects);
template <>
Initializer deserialize(std::string_view text, const CustomObjects& objects);
template <>
Regularizer deserialize(std::string_view text, const CustomObjects& objects);
template <>
Constraint deserialize(std::string_view text, const CustomObjects& objects);
template <>
ActivationFunction deserialize(std::string_view text, const CustomObjects& objects);

}  // namespace stoker
