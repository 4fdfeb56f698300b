#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/sealed_json.h"
#include "train/checkpoint/checkpoint.h"
#include "train/files/attrs_json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

// Numbers that JSON does not have (a loss can be NaN) travel as attributes do.
Json numbers_to_json(const std::vector<std::pair<std::string, double>>& values) {
  Attrs attrs;
  for (const auto& [name, value] : values) attrs.set(name, value);
  return Json::parse(attrs_to_json(attrs));
}

std::vector<std::pair<std::string, double>> numbers_from_json(const Json& json) {
  std::vector<std::pair<std::string, double>> values;
  Attrs attrs = attrs_from_json(json.dump());
  for (const auto& [name, value] : attrs.entries()) {
    if (!std::holds_alternative<double>(value))
      throw ValueError(fmt::format("\"{}\" is not a number with a fraction", name));
    values.emplace_back(name, std::get<double>(value));
  }
  return values;
}

Json history_to_json(const History& history) {
  Attrs values;
  for (const std::string& name : history.names()) values.set(name, Doubles(history[name]));
  return {{"epochs", history.epochs()}, {"values", Json::parse(attrs_to_json(values))}};
}

int64_t integer(const Json& json, const char* what) {
  bool good = json.is_number_integer() &&
              !(json.is_number_unsigned() && json.get<uint64_t>() > uint64_t(INT64_MAX));
  if (!good) throw ValueError(fmt::format("{} is not a number", what));
  return json.get<int64_t>();
}

int64_t count(const Json& object, const char* key) {
  int64_t value = integer(json_member(object, key), key);
  if (value < 0) throw ValueError(fmt::format("\"{}\" is {}", key, value));
  return value;
}

bool flag(const Json& object, const char* key) {
  const Json& value = json_member(object, key);
  if (!value.is_boolean()) throw ValueError(fmt::format("\"{}\" is neither true nor false", key));
  return value.get<bool>();
}

History history_from_json(const Json& json) {
  std::vector<int64_t> epochs;
  for (const Json& epoch : json_list(json, "epochs")) epochs.push_back(integer(epoch, "an epoch"));
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;
  Attrs lists = attrs_from_json(json_member(json, "values").dump());
  for (const auto& [name, list] : lists.entries()) {
    if (!std::holds_alternative<Doubles>(list))
      throw ValueError(fmt::format("the history of \"{}\" is no list of numbers", name));
    names.push_back(name);
    values.push_back(std::get<Doubles>(list));
  }
  History history;
  history.restore(std::move(epochs), std::move(names), std::move(values));
  return history;
}

Json feed_to_json(const FeedState& feed) {
  return {{"epoch", feed.epoch},     {"step", feed.step},
          {"walks", feed.walks},     {"walk_batches", feed.walk_batches},
          {"walking", feed.walking}, {"ended", feed.ended},
          {"stream", feed.stream}};
}

FeedState feed_from_json(const Json& json) {
  return {.epoch = count(json, "epoch"),
          .step = count(json, "step"),
          .walks = count(json, "walks"),
          .walk_batches = count(json, "walk_batches"),
          .walking = flag(json, "walking"),
          .ended = flag(json, "ended"),
          .stream = json_text(json, "stream")};
}

Json callbacks_to_json(const Checkpoint& checkpoint) {
  Json list = Json::array();
  for (const auto& [kind, state] : checkpoint.callbacks)
    list.push_back({{"kind", kind}, {"values", Json::parse(attrs_to_json(state.values))}});
  return list;
}

}  // namespace

std::string checkpoint_to_json(const Checkpoint& checkpoint) {
  Json json = {{"epoch", checkpoint.epoch},
               {"step", checkpoint.step},
               {"stop", checkpoint.stop},
               {"run_plan", Json::parse(to_json(checkpoint.plan))}};
  if (!checkpoint.library_plans.empty()) json["library_plans"] = checkpoint.library_plans;
  if (!checkpoint.settings.empty())
    json["settings"] = Json::parse(settings_to_json(checkpoint.settings));
  if (checkpoint.steps_per_epoch) json["steps_per_epoch"] = *checkpoint.steps_per_epoch;
  json["feed"] = feed_to_json(checkpoint.feed);
  json["history"] = history_to_json(checkpoint.history);
  json["logs"] = numbers_to_json(checkpoint.logs);
  json["samples"] = checkpoint.samples;
  json["optimizer"] = {{"learning_rate", checkpoint.learning_rate},
                       {"accumulated_batches", checkpoint.accumulated_batches}};
  json["callbacks"] = callbacks_to_json(checkpoint);
  return seal_json(json);
}

Checkpoint checkpoint_from_json(std::string_view text) {
  Json json = open_sealed_json(text);
  Checkpoint checkpoint{.epoch = count(json, "epoch"),
                        .step = count(json, "step"),
                        .stop = flag(json, "stop"),
                        .plan = run_plan_from_json(json_member(json, "run_plan").dump())};
  if (json.contains("library_plans"))
    for (const auto& [key, plan] : json_member(json, "library_plans").items()) {
      if (!plan.is_string()) throw ValueError("a library's plan is not a text");
      checkpoint.library_plans[key] = plan.get<std::string>();
    }
  if (json.contains("settings"))
    checkpoint.settings = settings_from_json(json_member(json, "settings").dump());
  if (json.contains("steps_per_epoch")) checkpoint.steps_per_epoch = count(json, "steps_per_epoch");
  checkpoint.feed = feed_from_json(json_member(json, "feed"));
  checkpoint.history = history_from_json(json_member(json, "history"));
  checkpoint.logs = numbers_from_json(json_member(json, "logs"));
  checkpoint.samples = count(json, "samples");
  const Json& optimizer = json_member(json, "optimizer");
  const Json& rate = json_member(optimizer, "learning_rate");
  if (!rate.is_number()) throw ValueError("the learning rate is not a number");
  checkpoint.learning_rate = rate.get<double>();
  checkpoint.accumulated_batches = count(optimizer, "accumulated_batches");
  for (const Json& each : json_list(json, "callbacks")) {
    CallbackState state{.values = attrs_from_json(json_member(each, "values").dump())};
    checkpoint.callbacks.emplace_back(json_text(each, "kind"), std::move(state));
  }
  return checkpoint;
}

}  // namespace stoker
