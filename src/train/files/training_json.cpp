#include "train/files/training_json.h"

#include <map>

#include <fmt/format.h>

#include "formats/json.h"
#include "train/files/attrs_json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

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

const Json& field(const Json& json, const char* name, bool good_type(const Json&)) {
  if (!json.is_object() || !json.contains(name) || !good_type(json[name]))
    throw ValueError(
        fmt::format("training settings: \"{}\" is missing or of the wrong type", name));
  return json[name];
}

bool is_object(const Json& json) { return json.is_object(); }
bool is_array(const Json& json) { return json.is_array(); }
bool is_string(const Json& json) { return json.is_string(); }
bool is_count(const Json& json) {
  return json.is_number_unsigned() && json.get<uint64_t>() <= uint64_t(INT64_MAX);
}

std::string kind_of(const Json& json) { return field(json, "kind", is_string).get<std::string>(); }
Attrs config_of(const Json& json) {
  return attrs_from_json(field(json, "config", is_object).dump());
}

bool is_custom(const Json& json, const char* name = "custom") {
  return json.contains(name) && json[name] == true;
}

Loss loss_from(const Json& json, const CustomObjects& objects) {
  if (json.is_null()) return {};
  std::string kind = kind_of(json);
  if (!is_custom(json))
    return {Loss(kind).kind(), config_of(json)};  // ValueError for an unknown one
  const Loss& loss = find_custom_object(objects.losses, kind, "losses");
  if (!loss.defined()) fail_custom(kind, "losses", "is undefined in custom_objects");
  return loss;
}

Metric metric_from(const Json& json, const CustomObjects& objects) {
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

// Schedules of the user's own, alone or inside a WarmUp: see schedule_config.h.
LearningRateSchedule own_schedule(const std::string& name, const Attrs& config,
                                  const CustomObjects& objects) {
  auto kind = config.get<std::string>(name);
  if (kind != "WarmUp" || !config.has(name + "/schedule")) {
    const auto& found = find_custom_object(objects.schedules, kind, "schedules");
    if (!found.defined()) fail_custom(kind, "schedules", "is undefined in custom_objects");
    return found;
  }
  return WarmUp({.schedule = own_schedule(name + "/schedule", config, objects),
                 .warmup_steps = config.get<int64_t>(name + "/warmup_steps"),
                 .initial_learning_rate = config.get<double>(name + "/initial_learning_rate")});
}

// An optimiser of this kind, to make the one of the file from.
Optimizer same_kind(const Json& json, const CustomObjects& objects) {
  std::string kind = kind_of(json);
  if (!is_custom(json)) return Optimizer(kind);  // ValueError for an unknown one
  const Optimizer& found = find_custom_object(objects.optimizers, kind, "optimizers");
  if (!found.defined()) fail_custom(kind, "optimizers", "is undefined in custom_objects");
  if (found.kind() != kind)
    fail_custom(kind, "optimizers",
                fmt::format("is of the kind \"{}\" in custom_objects", found.kind()));
  return found;
}

Optimizer optimizer_from(const Json& json, const CustomObjects& objects) {
  Attrs config = config_of(json);
  Optimizer known = same_kind(json, objects);
  if (!is_custom(json, "custom_schedule")) return known.with_config(config);
  return known.with_config(config, own_schedule("learning_rate", config, objects));
}

}  // namespace

std::string training_to_json(const Trainer& trainer, const RunPlan& plan) {
  const Compiled& compiled = *trainer.compiled;
  const Optimizer& optimizer = compiled.args.optimizer;
  Json json;
  json["optimizer"] = described(optimizer);
  json["accumulated_batches"] = optimizer.accumulated_batches();
  json["losses"] = Json::array();
  for (const Loss& loss : compiled.losses) json["losses"].push_back(described(loss));
  json["loss_weights"] = compiled.loss_weights;
  json["metrics"] = Json::array();
  for (const Metric& metric : compiled.args.metrics) json["metrics"].push_back(described(metric));
  for (const Metric& metric : compiled.args.weighted_metrics)
    json["weighted_metrics"].push_back(described(metric));
  json["run_plan"] = Json::parse(to_json(plan));
  return dump_json(json);
}

TrainingSettings training_from_json(std::string_view text, const CustomObjects& objects) {
  Json json = parse_ordered_json(text);
  TrainingSettings settings;
  settings.args.optimizer = optimizer_from(field(json, "optimizer", is_object), objects);
  settings.accumulated_batches = field(json, "accumulated_batches", is_count).get<int64_t>();
  std::vector<Loss> losses;
  for (const Json& each : field(json, "losses", is_array))
    losses.push_back(loss_from(each, objects));
  settings.args.loss = losses;
  for (const Json& each : field(json, "loss_weights", is_array)) {
    if (!each.is_number()) throw ValueError("training settings: a loss weight is not a number");
    settings.args.loss_weights.push_back(each.get<double>());
  }
  for (const Json& each : field(json, "metrics", is_array))
    settings.args.metrics.push_back(metric_from(each, objects));
  if (json.contains("weighted_metrics"))
    for (const Json& each : field(json, "weighted_metrics", is_array))
      settings.args.weighted_metrics.push_back(metric_from(each, objects));
  settings.seed = run_plan_from_json(field(json, "run_plan", is_object).dump()).seed;
  return settings;
}

}  // namespace stoker
