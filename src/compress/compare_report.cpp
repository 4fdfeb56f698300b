// What a comparison found, for people, programs and the page.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compress/compared.h"
#include "formats/json.h"
#include "observe/report_html.h"
#include "train/model/memory_table.h"

namespace stoker {

namespace {

using Cell = std::function<std::string(const ModelFigures&)>;

constexpr const char* kNothing = "-";

std::string gain(double before, double after) {
  return before > 0 && after > 0 ? fmt::format(" ({:.2f}x)", before / after) : "";
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g}", 1e3 * seconds); }

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = int64_t(text.size()) - 3; at > 0; at -= 3) text.insert(size_t(at), ",");
  return text;
}

std::string range_text(const StepTime& time) {
  if (time.seconds <= 0) return kNothing;
  return fmt::format("{} [{}, {}]", milliseconds(time.seconds), milliseconds(time.low),
                     milliseconds(time.high));
}

std::string speedup_text(const StepTime& time) {
  if (time.seconds <= 0 || time.speedup <= 0) return kNothing;
  return fmt::format("{:.2f}x [{:.2f}, {:.2f}]", time.speedup, time.speedup_low, time.speedup_high);
}

// Rows of text, columns as wide as they need to be.
class Columns {
 public:
  explicit Columns(const std::vector<ModelFigures>& models) : models_(models) {
    widths_.resize(models.size() + 1);
    row("", [](const ModelFigures& model) { return model.name; });
  }
  void row(const std::string& title, const Cell& cell) {
    std::vector<std::string> line = {title};
    for (const ModelFigures& model : models_) line.push_back(cell(model));
    bool nothing = std::all_of(line.begin() + 1, line.end(),
                               [](const std::string& each) { return each == kNothing; });
    if (nothing) return;
    for (size_t i = 0; i < line.size(); ++i) widths_[i] = std::max(widths_[i], line[i].size());
    lines_.push_back(std::move(line));
  }
  std::string text() const {
    std::string all;
    for (const std::vector<std::string>& line : lines_) {
      std::string made = fmt::format("{:<{}}", line[0], widths_[0]);
      for (size_t i = 1; i < line.size(); ++i) made += fmt::format("  {:>{}}", line[i], widths_[i]);
      all += made.substr(0, made.find_last_not_of(' ') + 1) + "\n";
    }
    return all;
  }

 private:
  const std::vector<ModelFigures>& models_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> lines_;
};

std::string bytes_cell(int64_t first, int64_t bytes) {
  if (bytes <= 0) return kNothing;
  return human_bytes(double(bytes)) + gain(double(first), double(bytes));
}

void add_costs(Columns& table, const ModelFigures& first) {
  table.row("parameters", [&](const ModelFigures& m) {
    return grouped(m.parameters) + gain(double(first.parameters), double(m.parameters));
  });
  table.row("of them zero",
            [](const ModelFigures& m) { return fmt::format("{:.1f} %", 100 * m.zero_share); });
  table.row("file",
            [&](const ModelFigures& m) { return bytes_cell(first.file_bytes, m.file_bytes); });
  table.row("MFLOP per sample", [&](const ModelFigures& m) {
    return m.flops > 0 ? fmt::format("{:.2f}", 1e-6 * m.flops) + gain(first.flops, m.flops)
                       : std::string(kNothing);
  });
  table.row("memory, training", [&](const ModelFigures& m) {
    return bytes_cell(first.training_bytes, m.training_bytes);
  });
  table.row("memory, inference", [&](const ModelFigures& m) {
    return bytes_cell(first.inference_bytes, m.inference_bytes);
  });
}

void add_times(Columns& table, const std::string& mode, StepTime ModelFigures::*member) {
  auto shown = [&](const std::string& title, const std::function<std::string(StepTime)>& show) {
    table.row(title, [&](const ModelFigures& m) {
      return (m.*member).seconds > 0 ? show(m.*member) : std::string(kNothing);
    });
  };
  shown(mode + ", ms per step", range_text);
  shown("  as fast as the first", speedup_text);
  shown("  samples per second",
        [](const StepTime& t) { return fmt::format("{:.0f}", t.samples_per_second); });
  table.row("  of the device", [&](const ModelFigures& m) {
    double share = (m.*member).device_share;
    return share > 0 ? fmt::format("{:.1f} %", 100 * share) : std::string(kNothing);
  });
}

std::string metric_cell(const ModelFigures& model, const std::string& name) {
  for (const auto& [each, value] : model.metrics)
    if (each == name) return fmt::format("{:.4f}", value);
  return kNothing;
}

// Predicted over measured, less 1.
std::optional<double> prediction_error(const ModelFigures& model) {
  if (!model.predicted_speedup || model.training.speedup <= 0) return std::nullopt;
  return *model.predicted_speedup / model.training.speedup - 1;
}

std::string sentence_of(const Comparison& comparison) {
  const ModelFigures& first = comparison.models.front();
  if (comparison.models.size() < 2) return fmt::format("{} by itself.", first.name);
  const ModelFigures& last = comparison.models.back();
  double fewer = double(first.parameters) / double(std::max<int64_t>(last.parameters, 1));
  std::string text = last.parameters == first.parameters
                         ? fmt::format("{} has as many parameters as {}", last.name, first.name)
                         : fmt::format("{} has {:.2f} times fewer parameters than {}", last.name,
                                       fewer, first.name);
  auto add = [&](const char* mode, const StepTime& time) {
    if (time.speedup <= 0 || time.seconds <= 0) return;
    bool clear = time.speedup_low > 1 || time.speedup_high < 1;
    text += clear ? fmt::format(", is {:.2f} times as fast in {}", time.speedup, mode)
                  : fmt::format(", is not clearly faster or slower in {}", mode);
  };
  add("training", last.training);
  add("inference", last.inference);
  return fmt::format("{}, and agrees with it in {:.1f} % of its {}.", text,
                     100 * comparison.agreement[0].back(),
                     comparison.agreement_of == "classes"  ? "decisions"
                     : comparison.agreement_of == "labels" ? "labels"
                                                           : "course");
}

nlohmann::json to_json(const StepTime& time) {
  return {{"seconds", time.seconds},
          {"low", time.low},
          {"high", time.high},
          {"samples_per_second", time.samples_per_second},
          {"speedup", time.speedup},
          {"speedup_interval", {time.speedup_low, time.speedup_high}},
          {"device_share", time.device_share}};
}

nlohmann::json to_json(const ModelFigures& model) {
  nlohmann::json metrics = nlohmann::json::object();
  for (const auto& [name, value] : model.metrics) metrics[name] = value;
  nlohmann::json json{{"name", model.name},
                      {"parameters", model.parameters},
                      {"zero_share", model.zero_share},
                      {"file_bytes", model.file_bytes},
                      {"flops", model.flops},
                      {"training_bytes", model.training_bytes},
                      {"inference_bytes", model.inference_bytes},
                      {"training", to_json(model.training)},
                      {"inference", to_json(model.inference)},
                      {"metrics", metrics}};
  if (model.predicted_speedup) json["predicted_speedup"] = *model.predicted_speedup;
  if (std::optional<double> error = prediction_error(model)) json["prediction_error"] = *error;
  return json;
}

}  // namespace

nlohmann::json compress::comparison_json(const Comparison& comparison) {
  nlohmann::json models = nlohmann::json::array();
  for (const ModelFigures& model : comparison.models) models.push_back(to_json(model));
  return {{"device", comparison.device},
          {"batch_size", comparison.batch_size},
          {"samples", comparison.samples},
          {"sentence", sentence_of(comparison)},
          {"models", models},
          {"agreement_of", comparison.agreement_of},
          {"agreement", comparison.agreement},
          {"notes", comparison.notes}};
}

std::string Comparison::text() const {
  Columns table(models);
  const ModelFigures& first = models.front();
  add_costs(table, first);
  add_times(table, "training", &ModelFigures::training);
  add_times(table, "inference", &ModelFigures::inference);
  table.row("  speedup of training, predicted", [](const ModelFigures& m) {
    std::optional<double> error = prediction_error(m);
    if (!m.predicted_speedup) return std::string(kNothing);
    return fmt::format("{:.2f}x{}", *m.predicted_speedup,
                       error ? fmt::format(" ({:+.0f} %)", 100 * *error) : "");
  });
  for (const auto& [name, value] : first.metrics)
    table.row(name, [&](const ModelFigures& m) { return metric_cell(m, name); });
  for (size_t i = 0; i + 1 < models.size(); ++i)
    table.row(fmt::format("agrees with {}", models[i].name), [&](const ModelFigures& m) {
      return fmt::format("{:.2f} %", 100 * agreement[i][size_t(&m - models.data())]);
    });
  std::string text = table.text() + sentence_of(*this) + "\n";
  text += fmt::format(
      "{} samples on {}; steps of {} samples, one batch again and again, in alternating blocks: "
      "median [middle half]; speedups with their 95 % intervals.\n",
      samples, device, batch_size);
  for (const std::string& note : notes) text += "Note: " + note + "\n";
  return text;
}

std::string Comparison::json() const {
  return dump_report(compress::comparison_json(*this), 2) + "\n";
}

std::string Comparison::html() const {
  return doctor::page_of({{"comparison", compress::comparison_json(*this)}});
}

}  // namespace stoker
