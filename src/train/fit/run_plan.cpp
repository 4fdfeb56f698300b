#include <stoker/run_plan.h>

#include <tuple>

#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

// One walk over the entries serves printing, comparing, writing and reading.
template <class Plan, class Visit>
void each_entry(Plan& plan, Visit&& visit) {
  visit("seed", plan.seed);
  visit("batch_size", plan.batch_size);
  visit("compute_threads", plan.compute_threads);
  visit("backend", plan.backend);
  visit("fingerprint", plan.fingerprint);
  visit("deterministic", plan.deterministic);
  visit("precision", plan.precision);
  visit("library_version", plan.library_version);
}

}  // namespace

std::string to_string(const RunPlan& plan) {
  std::string text;
  each_entry(plan, [&](const char* name, const auto& value) {
    text += fmt::format("{:<16} {}\n", name, value);
  });
  return text;
}

std::string to_json(const RunPlan& plan) {
  Json json;
  each_entry(plan, [&](const char* name, const auto& value) { json[name] = value; });
  return dump_json(json);
}

RunPlan run_plan_from_json(std::string_view text) {
  Json json = parse_ordered_json(text);
  if (!json.is_object()) throw ValueError("run plan: expected a JSON object");
  RunPlan plan;
  each_entry(plan, [&]<class T>(const char* name, T& value) {
    auto entry = json.find(name);
    bool good = entry != json.end();
    if constexpr (std::is_same_v<T, bool>)
      good = good && entry->is_boolean();
    else if constexpr (std::is_same_v<T, std::string>)
      good = good && entry->is_string();
    else
      good = good && entry->is_number_integer();
    if (!good)
      throw ValueError(fmt::format("run plan: \"{}\" is missing or of the wrong type", name));
    value = entry->template get<T>();
  });
  return plan;
}

std::vector<std::string> differences(const RunPlan& here, const RunPlan& there) {
  std::vector<std::string> ours, lines;
  auto print = [](std::vector<std::string>& list) {
    return [&list](const char*, const auto& value) { list.push_back(fmt::format("{}", value)); };
  };
  each_entry(here, print(ours));
  size_t index = 0;
  each_entry(there, [&](const char* name, const auto& value) {
    std::string theirs = fmt::format("{}", value);
    if (ours[index] != theirs)
      lines.push_back(fmt::format("{}: {} here, {} there", name, ours[index], theirs));
    ++index;
  });
  return lines;
}

}  // namespace stoker
