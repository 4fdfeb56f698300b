#include "jobs/demo_table.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/model/memory_table.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

std::string row(const char* what, const std::string& before, const std::string& after,
                const std::string& gain = "") {
  std::string line = fmt::format("   {:<34}{:>14}{:>14}{:>9}", what, before, after, gain);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

double number(const json& figures, const char* key) { return figures.at(key).get<double>(); }

// A stage's own name, without what it was made with: decode_jpeg.
std::string stage_name(const json& stage) {
  std::string details = stage.value("details", "");
  std::string name = stage["kind"] == "map" ? details : stage["kind"].get<std::string>();
  if (name.starts_with('"')) name.erase(0, 1);
  return name.substr(0, name.find_first_of("\" ,("));
}

}  // namespace

json stage_costs(const json& explained, int64_t batch) {
  json costs = json::array();
  for (const json& stage : explained["stages"])
    if (stage.contains("ns_per_element")) {
      double ms = stage["ns_per_element"].get<double>() * 1e-6 * double(batch);
      costs.push_back({{"name", stage_name(stage)}, {"ms_per_batch", ms}});
    }
  return costs;
}

json comparison(const json& before, const json& after) {
  return {{"before", before},
          {"after", after},
          {"speedup", number(before, "ms_per_step") / number(after, "ms_per_step")},
          {"same_weights", before.at("weights_sha256") == after.at("weights_sha256")}};
}

std::string comparison_table(const json& comparison) {
  const json &before = comparison["before"], &after = comparison["after"];
  auto both = [&](const char* what, const char* format, const char* key, double scale = 1) {
    return row(what, fmt::format(fmt::runtime(format), scale * number(before, key)),
               fmt::format(fmt::runtime(format), scale * number(after, key)));
  };
  std::string text = row("", "as written", "Stoker");
  text += row("samples per second", fmt::format("{:.0f}", number(before, "samples_per_second")),
              fmt::format("{:.0f}", number(after, "samples_per_second")),
              fmt::format("{:.1f} ×", number(comparison, "speedup")));
  text += both("a training step", "{:.1f} ms", "ms_per_step");
  text += both("  of which waiting for pictures", "{:.1f} ms", "wait_ms_per_step");
  text += both("threads that make batches", "{:.0f}", "workers");
  text += both("batches prefetched", "{:.0f}", "depth");
  text += row("memory of the pipeline, at most", human_bytes(number(before, "pipeline_peak_bytes")),
              human_bytes(number(after, "pipeline_peak_bytes")));
  text += both("accuracy on new pictures", "{:.1f} %", "val_accuracy", 100);
  text += row("weights at the end", "",
              comparison["same_weights"].get<bool>() ? "the same" : "DIFFERENT");
  return text;
}

std::string what_was_lost(const json& comparison) {
  const json &before = comparison["before"], &after = comparison["after"];
  double step = number(before, "ms_per_step"), wait = number(before, "wait_ms_per_step");
  std::string text = fmt::format(
      "What the slow form lost: of the {:.0f} ms of a step the model worked {:.0f} ms and waited "
      "{:.0f} "
      "ms ({:.0f} %)\nfor pictures.",
      step, std::max(0.0, step - wait), wait, 100 * wait / step);
  json stages = before["stages"];
  std::sort(stages.begin(), stages.end(),
            [](const json& a, const json& b) { return a["ms_per_batch"] > b["ms_per_batch"]; });
  if (!stages.empty()) {
    text += " Where, for a batch:";
    for (size_t i = 0; i < std::min<size_t>(3, stages.size()); ++i)
      text += fmt::format("{} {} {:.1f} ms", i == 0 ? "" : ",",
                          stages[i]["name"].get<std::string>(), number(stages[i], "ms_per_batch"));
    text += ".";
  }
  text += fmt::format(
      "\nStoker made the same batches beside the model, {:.0f} ahead, and cut the wait to {:.0f} "
      "ms: "
      "{:.1f} times as\nfast, and the weights are {}.\n",
      number(after, "depth"), number(after, "wait_ms_per_step"), number(comparison, "speedup"),
      comparison["same_weights"].get<bool>() ? "the same to the last bit" : "NOT the same");
  return text;
}

}  // namespace stoker::jobs
