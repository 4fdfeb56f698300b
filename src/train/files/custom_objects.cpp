#include "train/files/custom_objects.h"

#include <stoker/context.h>
#include <stoker/custom_objects.h>
#include <stoker/error.h>

namespace stoker {

namespace {

thread_local std::shared_ptr<const CustomObjects> scope_objects;

void add_missing(CustomObjects& to, const CustomObjects& from) {
  auto add = [](auto& known, const auto& more) { known.insert(more.begin(), more.end()); };
  add(to.layers, from.layers);
  add(to.losses, from.losses);
  add(to.metrics, from.metrics);
  add(to.schedules, from.schedules);
  add(to.optimizers, from.optimizers);
}

const std::string& expect_name(const std::string& name) {
  if (name.empty()) throw ValueError("register_keras_serializable: the name is empty");
  return name;
}

}  // namespace

CustomObjects& get_custom_objects() {
  static CustomObjects registered;
  return registered;
}

CustomObjects with_registered(CustomObjects given) {
  if (scope_objects != nullptr) add_missing(given, *scope_objects);
  add_missing(given, get_custom_objects());
  return given;
}

CustomObjectScope::CustomObjectScope(CustomObjects objects)
    : outer_(std::exchange(scope_objects,
                           std::make_shared<const CustomObjects>(std::move(objects)))) {}

CustomObjectScope::~CustomObjectScope() { scope_objects = std::move(outer_); }

void register_keras_serializable(const std::string& name, LayerFactory layer) {
  if (!layer)
    throw ValueError("register_keras_serializable: the function that makes the layer is empty");
  get_custom_objects().layers.insert_or_assign(expect_name(name), std::move(layer));
}
void register_keras_serializable(const Loss& loss) {
  get_custom_objects().losses.insert_or_assign(expect_name(get_registered_name(loss)), loss);
}
void register_keras_serializable(const Metric& metric) {
  get_custom_objects().metrics.insert_or_assign(expect_name(get_registered_name(metric)), metric);
}
void register_keras_serializable(const LearningRateSchedule& schedule) {
  get_custom_objects().schedules.insert_or_assign(expect_name(get_registered_name(schedule)),
                                                  schedule);
}
void register_keras_serializable(const Optimizer& optimizer) {
  get_custom_objects().optimizers.insert_or_assign(expect_name(get_registered_name(optimizer)),
                                                   optimizer);
}

std::string get_registered_name(const Layer& layer) { return layer.base().kind(); }
std::string get_registered_name(const Loss& loss) { return loss.kind(); }
std::string get_registered_name(const Metric& metric) { return metric.name(); }
std::string get_registered_name(const LearningRateSchedule& schedule) { return schedule.kind(); }
std::string get_registered_name(const Optimizer& optimizer) { return optimizer.kind(); }

std::optional<CustomObject> get_registered_object(const std::string& name,
                                                  const CustomObjects& custom_objects) {
  CustomObjects all = with_registered(custom_objects);
  std::optional<CustomObject> found;
  auto look = [&](const auto& objects) {
    if (auto object = objects.find(name); !found && object != objects.end()) found = object->second;
  };
  look(all.layers);
  look(all.losses);
  look(all.metrics);
  look(all.schedules);
  look(all.optimizers);
  return found;
}

void clear_session() {
  Context& context = default_context();
  context.seed.set(context.seed.value());
  context.policy = "float32";
}

}  // namespace stoker
