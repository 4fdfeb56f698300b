#include "train/files/objects_json.h"

#include <map>

#include <fmt/format.h>

#include "train/files/attrs_json.h"

namespace stoker {

namespace {
using Json = nlohmann::ordered_json;
}

const Json& json_field(const char* what, const Json& json, const char* name,
                       bool good_type(const Json&)) {
  if (!json.is_object() || !json.contains(name) || !good_type(json[name]))
    throw ValueError(fmt::format("{}: \"{}\" is missing or of the wrong type", what, name));
  return json[name];
}

bool is_json_object(const Json& json) { return json.is_object(); }
bool is_json_array(const Json& json) { return json.is_array(); }

namespace {

const Json& field(const Json& json, const char* name, bool good_type(const Json&)) {
  return json_field("a description", json, name, good_type);
}

bool is_string(const Json& json) { return json.is_string(); }

}  // namespace

std::string kind_of(const Json& json) { return field(json, "kind", is_string).get<std::string>(); }
Attrs config_of(const Json& json) {
  return attrs_from_json(field(json, "config", is_json_object).dump());
}

namespace {

// `what` is a member of CustomObjects.
[[noreturn]] void fail_custom(const std::string& name, const char* what, const std::string& why) {
  throw ValueError(fmt::format(
      "\"{0}\", one of its {1}, {2}; pass it: load_model(path, {{.custom_objects = {{.{1} = "
      "{{{{\"{0}\", ...}}}}}}}}), or load the model without losses, metrics and optimiser: "
      "{{.compile = false}}",
      name, what, why));
}

template <class T>
const T& find_custom_object(const std::map<std::string, T, std::less<>>& objects,
                            const std::string& name, const char* what) {
  auto found = objects.find(name);
  if (found == objects.end()) fail_custom(name, what, "is C++ code, which is not in the file");
  return found->second;
}

bool is_custom(const Json& json, const char* name = "custom") {
  return json.contains(name) && json[name] == true;
}

// Schedules of the user's own, alone or inside a WarmUp: see schedule_config.h.
LearningRateSchedule own_schedule(const std::string& name, const Attrs& config,
                                  const CustomObjects& objects) {
  const auto& kind = config.get<std::string>(name);
  if (kind != "WarmUp" || !config.has(name + "/schedule")) {
    const auto& found = find_custom_object(objects.schedules, kind, "schedules");
    if (!found.defined()) fail_custom(kind, "schedules", "is undefined in custom_objects");
    return found;
  }
  return WarmUp({.schedule = own_schedule(name + "/schedule", config, objects),
                 .warmup_steps = config.get<int64_t>(name + "/warmup_steps"),
                 .initial_learning_rate = config.get<double>(name + "/initial_learning_rate")});
}

// The user's own optimiser of this kind, to make the one of the file from.
Optimizer own_optimizer(const std::string& kind, const CustomObjects& objects) {
  const Optimizer& found = find_custom_object(objects.optimizers, kind, "optimizers");
  if (!found.defined()) fail_custom(kind, "optimizers", "is undefined in custom_objects");
  if (found.kind() != kind)
    fail_custom(kind, "optimizers",
                fmt::format("is of the kind \"{}\" in custom_objects", found.kind()));
  return found;
}

}  // namespace

Json described(const std::string& kind, const Attrs& config) {
  return {{"kind", kind}, {"config", Json::parse(attrs_to_json(config))}};
}

Json described(const Loss& loss) {
  if (!loss.defined()) return nullptr;
  Json json = described(loss.kind(), loss.config());
  if (loss.custom()) json["custom"] = true;
  return json;
}

Json described(const Metric& metric) {
  Json json = described(metric.kind(), metric.config());
  if (metric.custom()) json["custom"] = true;
  json["name"] = metric.name();
  json["output"] = metric.output();
  return json;
}

Json described(const Optimizer& optimizer) {
  Json json = described(optimizer.kind(), optimizer.config());
  if (optimizer.custom()) json["custom"] = true;
  if (optimizer.schedule().defined() && optimizer.schedule().custom())
    json["custom_schedule"] = true;
  return json;
}

Loss loss_from_json(const Json& json, const CustomObjects& objects) {
  if (json.is_null()) return {};
  std::string kind = kind_of(json);
  if (!is_custom(json))
    return {Loss(kind).kind(), config_of(json)};  // ValueError for an unknown one
  const Loss& loss = find_custom_object(objects.losses, kind, "losses");
  if (!loss.defined()) fail_custom(kind, "losses", "is undefined in custom_objects");
  return loss;
}

Metric metric_from_json(const Json& json, const CustomObjects& objects) {
  std::string kind = kind_of(json), output = field(json, "output", is_string).get<std::string>();
  std::string name = field(json, "name", is_string).get<std::string>();
  if (!is_custom(json)) return {kind, config_of(json), {.name = name, .output = output}};
  auto by_name = objects.metrics.find(name);
  Metric metric =
      (by_name != objects.metrics.end() ? by_name->second
                                        : find_custom_object(objects.metrics, kind, "metrics"))
          .clone();
  if (metric.output() != output)
    fail_custom(name, "metrics",
                fmt::format("is for output \"{}\" in custom_objects, and was for \"{}\"",
                            metric.output(), output));
  return metric;
}

Optimizer optimizer_from_json(const Json& json, const CustomObjects& objects) {
  std::string kind = kind_of(json);
  Attrs config = config_of(json);
  if (!is_custom(json, "custom_schedule"))
    return is_custom(json) ? own_optimizer(kind, objects).with_config(config)
                           : Optimizer::from_config(kind, config);
  LearningRate rate = own_schedule("learning_rate", config, objects);
  return is_custom(json) ? own_optimizer(kind, objects).with_config(config, rate)
                         : Optimizer::from_config(kind, config, rate);
}

}  // namespace stoker
