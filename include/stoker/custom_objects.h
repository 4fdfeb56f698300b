// The program's own classes and functions, registered once, so that every load_model() and deserialize()
// finds them without custom_objects:
//
//   register_keras_serializable("Scale", [](const Attrs& config) { return make_layer<Scale>(config); });
//   Model model = load_model("m.stoker");
//
// What a call is given in custom_objects counts first, then the innermost CustomObjectScope of the
// thread, then what is registered. Register before threads load models: the registry is not locked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <stoker/model.h>

namespace stoker {

// What is registered, to be read and changed. clear_session() leaves it.
CustomObjects& get_custom_objects();

// Under the name that files have: kind() of layers, schedules and optimisers, the name of an own loss or
// metric. A second one replaces the first.
void register_keras_serializable(const std::string& name, LayerFactory layer);
void register_keras_serializable(const Loss& loss);
void register_keras_serializable(const Metric& metric);
void register_keras_serializable(const LearningRateSchedule& schedule);
void register_keras_serializable(const Optimizer& optimizer);

// The name by which files mention it, registered or not.
std::string get_registered_name(const Layer& layer);
std::string get_registered_name(const Loss& loss);
std::string get_registered_name(const Metric& metric);
std::string get_registered_name(const LearningRateSchedule& schedule);
std::string get_registered_name(const Optimizer& optimizer);

using CustomObject = std::variant<LayerFactory, Loss, Metric, LearningRateSchedule, Optimizer>;
// By that name, in the order above; nothing where there is none.
std::optional<CustomObject> get_registered_object(const std::string& name,
                                                  const CustomObjects& custom_objects = {});

// Registered for this thread while it lives. The innermost one counts, alone.
class CustomObjectScope {
 public:
  explicit CustomObjectScope(CustomObjects objects);
  ~CustomObjectScope();
  CustomObjectScope(const CustomObjectScope&) = delete;
  CustomObjectScope& operator=(const CustomObjectScope&) = delete;

 private:
  std::shared_ptr<const CustomObjects> outer_;
};

// The default context as at the program's start: policy float32, and random streams from the first on,
// so that a model that is built next gets the weights of the one that was built first. Models, their
// memory and what is registered stay: memory goes with the last handle of a model.
void clear_session();

}  // namespace stoker
