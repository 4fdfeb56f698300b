#include "train/files/training_json.h"

#include <fmt/format.h>

#include "formats/json.h"
#include "train/files/objects_json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWhat = "training settings";

bool is_count(const Json& json) {
  return json.is_number_unsigned() && json.get<uint64_t>() <= uint64_t(INT64_MAX);
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
  for (const Metric& metric : compiled.args.metrics.list())
    json["metrics"].push_back(described(metric));
  for (const Metric& metric : compiled.args.weighted_metrics.list())
    json["weighted_metrics"].push_back(described(metric));
  json["run_plan"] = Json::parse(to_json(plan));
  return dump_json(json);
}

TrainingSettings training_from_json(std::string_view text, const CustomObjects& objects) {
  Json json = parse_ordered_json(text);
  TrainingSettings settings;
  settings.args.optimizer =
      optimizer_from_json(json_field(kWhat, json, "optimizer", is_json_object), objects);
  settings.accumulated_batches =
      json_field(kWhat, json, "accumulated_batches", is_count).get<int64_t>();
  std::vector<Loss> losses;
  for (const Json& each : json_field(kWhat, json, "losses", is_json_array))
    losses.push_back(loss_from_json(each, objects));
  settings.args.loss = losses;
  std::vector<double> weights;
  for (const Json& each : json_field(kWhat, json, "loss_weights", is_json_array)) {
    if (!each.is_number()) throw ValueError("training settings: a loss weight is not a number");
    weights.push_back(each.get<double>());
  }
  settings.args.loss_weights = weights;
  for (const Json& each : json_field(kWhat, json, "metrics", is_json_array))
    settings.args.metrics.push_back(metric_from_json(each, objects));
  if (json.contains("weighted_metrics"))
    for (const Json& each : json_field(kWhat, json, "weighted_metrics", is_json_array))
      settings.args.weighted_metrics.push_back(metric_from_json(each, objects));
  settings.seed =
      run_plan_from_json(json_field(kWhat, json, "run_plan", is_json_object).dump()).seed;
  return settings;
}

}  // namespace stoker
