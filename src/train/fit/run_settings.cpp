#include "train/fit/run_settings.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/json.h"
#include "train/files/architecture.h"
#include "train/files/attrs_json.h"
#include "train/model/trainer.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNotSet = "not set";
constexpr const char* kParts = "parts";

std::string dumped(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A configuration without functions, which have no text; empty: it holds one.
Json config_json(const Attrs& config) {
  try {
    return Json::parse(attrs_to_json(config));
  } catch (const ValueError&) {
    return Json::object();
  }
}

std::string described(const std::string& kind, const Attrs& config) {
  return config.entries().empty() ? kind : fmt::format("{} {}", kind, dumped(config_json(config)));
}

void add_optimizer(const Optimizer& optimizer, RunSettings& settings) {
  settings.push_back({"optimizer", {optimizer.kind()}});
  Json config = config_json(optimizer.config());
  for (const auto& [name, value] : config.items())
    if (name != "name") settings.push_back({name, {dumped(value)}});
}

void add_losses(const Compiled& compiled, RunSettings& settings) {
  RunSetting losses{"loss", {}}, weights{"loss_weights", {}}, metrics{"metrics", {}};
  for (const Loss& loss : compiled.losses)
    losses.values.push_back(loss.defined() ? described(loss.kind(), loss.config()) : "none");
  for (double weight : compiled.loss_weights) weights.values.push_back(fmt::format("{}", weight));
  for (const Metric& metric : compiled.args.metrics.list())
    metrics.values.push_back(
        fmt::format("{} as {}", described(metric.kind(), metric.config()), metric.name()));
  if (metrics.values.empty()) metrics.values.emplace_back("none");
  settings.insert(settings.end(), {losses, weights, metrics});
}

// Names are numbered through in a process, so that they say nothing.
void remove_names(Json& json) {
  if (!json.is_structured()) return;
  if (json.is_object()) json.erase("name");
  for (Json& each : json) remove_names(each);
}

// A line per layer, and one for how they are connected; none for models that have no text.
std::vector<std::string> architecture_lines(const ModelBase& model) {
  try {
    std::vector<Tensor> constants;
    Json json = Json::parse(architecture_to_json(model, constants));
    remove_names(json);
    std::vector<std::string> lines;
    for (const Json& layer : json["layers"])
      lines.push_back(
          fmt::format("{} {}", layer.value("kind", "layer"), dumped(layer.value("config", layer))));
    json.erase("layers");
    lines.push_back(fmt::format("connections {}", dumped(json)));
    return lines;
  } catch (const Error&) {
    return {};
  }
}

void add_fit(const Feed& training, const Feed* validation, const FitArgs& args,
             RunSettings& settings) {
  settings.push_back({"epochs", {std::to_string(args.epochs)}});
  std::string weights;
  for (const auto& [label, weight] : args.class_weight)
    weights += fmt::format("{}{}: {}", weights.empty() ? "" : ", ", label, weight);
  settings.push_back({"class_weight", {weights.empty() ? "none" : weights}});
  if (training.arrays())
    settings.push_back({"shuffle", {args.shuffle.value_or(true) ? "true" : "false"}});
  settings.push_back({"data", training.described()});
  std::vector<std::string> validated =
      validation ? validation->described() : std::vector{std::string("none")};
  settings.push_back({"validation_data", std::move(validated)});
  const ValidationFreq& freq = args.validation_freq;
  if (!freq.every_epoch())  // what older checkpoints have no word for
    settings.push_back({"validation_freq",
                        {freq.every() > 0 ? fmt::format("{}", freq.every())
                                          : fmt::format("{}", fmt::join(freq.listed(), ", "))}});
}

const RunSetting* find(const RunSettings& settings, const std::string& name) {
  auto found = std::ranges::find(settings, name, &RunSetting::name);
  return found == settings.end() ? nullptr : &*found;
}

// The part of two lists that is between what they have in common at both ends.
void compare(const std::string& name, std::span<const std::string> here,
             std::span<const std::string> there, std::vector<SettingDifference>& found) {
  if (here.size() == there.size()) {
    for (size_t i = 0; i < here.size(); ++i)
      if (here[i] != there[i]) found.push_back({name, here[i], there[i]});
    return;
  }
  while (!here.empty() && !there.empty() && here.front() == there.front())
    here = here.subspan(1), there = there.subspan(1);
  while (!here.empty() && !there.empty() && here.back() == there.back())
    here = here.first(here.size() - 1), there = there.first(there.size() - 1);
  auto joined = [](std::span<const std::string> lines) {
    return lines.empty() ? "nothing" : fmt::format("{}", fmt::join(lines, ", "));
  };
  found.push_back({name, joined(here), joined(there)});
}

}  // namespace

RunSettings run_settings(const ModelBase& model, const Feed& training, const Feed* validation,
                         const FitArgs& args) {
  const Compiled& compiled = *model.trainer->compiled;
  RunSettings settings;
  add_optimizer(compiled.args.optimizer, settings);
  for (const OwnOptimizer& each : compiled.own.optimizers)
    if (!(each.optimizer == compiled.args.optimizer))
      settings.push_back({fmt::format("optimizer {}", settings.size()),
                          {described(each.optimizer.kind(), each.optimizer.config())}});
  add_losses(compiled, settings);
  settings.push_back({"architecture", architecture_lines(model)});
  add_fit(training, validation, args, settings);
  return settings_from_json(settings_to_json(settings));  // as it will be read back
}

std::vector<SettingDifference> differences(const RunSettings& here, const RunSettings& there) {
  std::vector<SettingDifference> found;
  if (here.empty() || there.empty()) return found;
  for (const RunSetting& ours : here) {
    const RunSetting* theirs = find(there, ours.name);
    if (theirs == nullptr)
      found.push_back({ours.name, fmt::format("{}", fmt::join(ours.values, ", ")), kNotSet});
    else if (!ours.values.empty() && !theirs->values.empty())
      compare(ours.name, ours.values, theirs->values, found);
  }
  for (const RunSetting& theirs : there)
    if (find(here, theirs.name) == nullptr)
      found.push_back({theirs.name, kNotSet, fmt::format("{}", fmt::join(theirs.values, ", "))});
  return found;
}

std::string to_string(const SettingDifference& difference) {
  return fmt::format("{}: {} here, {} there", difference.name, difference.here, difference.there);
}

RunSettings with_parts(RunSettings settings, const PartSizes& parts) {
  if (parts.training > 0 || parts.evaluation > 0)
    settings.push_back(
        {kParts, {std::to_string(parts.training), std::to_string(parts.evaluation)}});
  return settings;
}

PartSizes take_parts(RunSettings& settings) {
  const RunSetting* found = find(settings, kParts);
  if (found == nullptr) return {};
  auto size_at = [&](size_t i) {
    int64_t size = 0;
    if (i < found->values.size()) {
      const std::string& text = found->values[i];
      std::from_chars(text.data(), text.data() + text.size(), size);
    }
    return std::max<int64_t>(size, 0);
  };
  PartSizes parts{.training = size_at(0), .evaluation = size_at(1)};
  std::erase_if(settings, [](const RunSetting& each) { return each.name == kParts; });
  return parts;
}

std::string settings_to_json(const RunSettings& settings) {
  Json list = Json::array();
  for (const RunSetting& each : settings)
    list.push_back({{"name", each.name}, {"values", each.values}});
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunSettings settings_from_json(std::string_view text) {
  Json list = parse_ordered_json(text);
  if (!list.is_array()) throw ValueError("the settings are no list");
  RunSettings settings;
  for (const Json& each : list) {
    RunSetting setting;
    bool good = each.is_object() && each.contains("name") && each["name"].is_string() &&
                each.contains("values") && each["values"].is_array();
    if (!good) throw ValueError("a setting has no name or no values");
    setting.name = each["name"].get<std::string>();
    for (const Json& value : each["values"]) {
      if (!value.is_string()) throw ValueError("a setting's value is no text");
      setting.values.push_back(value.get<std::string>());
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace stoker
