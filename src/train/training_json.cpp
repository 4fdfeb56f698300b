#include "train/training_json.h"

#include <fmt/format.h>

#include "formats/json.h"
#include "train/attrs_json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail_function(const char* what, const std::string& name) {
  throw ValueError(
      fmt::format("save: {} \"{}\" is a C++ function, which cannot be written to a file; save with "
                  "{{.include_optimizer = false}} and compile after loading",
                  what, name));
}

Json described(const std::string& kind, const Attrs& config) {
  return {{"kind", kind}, {"config", Json::parse(attrs_to_json(config))}};
}

Json described(const Loss& loss) {
  if (loss.custom()) fail_function("loss", loss.kind());
  return described(loss.kind(), loss.config());
}

// An own metric's kind is the name that the user gave it.
bool is_built_in(const Metric& metric) {
  try {
    return Metric(metric.kind(), metric.config()).kind() == metric.kind();
  } catch (const ValueError&) {
    return false;
  }
}

Json described(const Metric& metric) {
  if (!is_built_in(metric)) fail_function("metric", metric.name());
  Json json = described(metric.kind(), metric.config());
  json["name"] = metric.name();
  json["output"] = metric.output();
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

Loss loss_from(const Json& json) {
  Loss known(kind_of(json));  // ValueError for an unknown one
  return {known.kind(), config_of(json)};
}

Metric metric_from(const Json& json) {
  return {kind_of(json), config_of(json),
          MetricOptions{.name = field(json, "name", is_string).get<std::string>(),
                        .output = field(json, "output", is_string).get<std::string>()}};
}

}  // namespace

std::string training_to_json(const Trainer& trainer, const RunPlan& plan) {
  const Compiled& compiled = *trainer.compiled;
  const Optimizer& optimizer = compiled.args.optimizer;
  if (optimizer.schedule().defined() && optimizer.schedule().custom())
    fail_function("learning rate schedule", optimizer.schedule().kind());
  Json json;
  json["optimizer"] = described(optimizer.kind(), optimizer.config());
  json["accumulated_batches"] = optimizer.accumulated_batches();
  json["losses"] = Json::array();
  for (const Loss& loss : compiled.losses) json["losses"].push_back(described(loss));
  json["loss_weights"] = compiled.loss_weights;
  json["metrics"] = Json::array();
  for (const Metric& metric : compiled.args.metrics) json["metrics"].push_back(described(metric));
  json["run_plan"] = Json::parse(to_json(plan));
  return dump_json(json);
}

TrainingSettings training_from_json(std::string_view text) {
  Json json = parse_ordered_json(text);
  TrainingSettings settings;
  const Json& optimizer = field(json, "optimizer", is_object);
  settings.args.optimizer = Optimizer::from_config(kind_of(optimizer), config_of(optimizer));
  settings.accumulated_batches = field(json, "accumulated_batches", is_count).get<int64_t>();
  std::vector<Loss> losses;
  for (const Json& each : field(json, "losses", is_array)) losses.push_back(loss_from(each));
  settings.args.loss = losses;
  for (const Json& each : field(json, "loss_weights", is_array)) {
    if (!each.is_number()) throw ValueError("training settings: a loss weight is not a number");
    settings.args.loss_weights.push_back(each.get<double>());
  }
  for (const Json& each : field(json, "metrics", is_array))
    settings.args.metrics.push_back(metric_from(each));
  settings.seed = run_plan_from_json(field(json, "run_plan", is_object).dump()).seed;
  return settings;
}

}  // namespace stoker
