// The report for a terminal: the verdict sentence first.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <stoker/doctor.h>

#include "base/convert.h"
#include "observe/prescriptions.h"

namespace stoker::doctor {

namespace {

constexpr int kBar = 50;
constexpr size_t kMostLayers = 8;
constexpr double kWorthTelling = 0.01;  // of a fit

// Colours of a terminal, by owner.
constexpr std::array<const char*, kOwners> kColours = {"\x1b[32m", "\x1b[35m", "\x1b[31m",
                                                       "\x1b[33m", "\x1b[36m", "\x1b[90m"};
constexpr std::array<const char*, kOwners> kExplained = {
    "the device computes",          "it waits for a copy",       "it waits for a batch",
    "it waits for the host's call", "callbacks and host layers", "not explained"};

// Columns of a bar for each share: they sum to the bar's length.
std::array<int, kOwners> columns_of(const StepShares& shares) {
  std::array<int, kOwners> columns{};
  double sum = 0;
  int used = 0;
  for (size_t i = 0; i < kOwners; ++i) {
    sum += shares.share[i];
    columns[i] = convert<int>(std::round(sum * kBar)) - used;
    used += columns[i];
  }
  return columns;
}

std::string bars(const Diagnosis& diagnosis, bool colour) {
  std::array<int, kOwners> columns = columns_of(diagnosis.shares);
  std::string text = "  |";
  static constexpr std::string_view kLetters = "#c.l+?";
  for (size_t i = 0; i < kOwners; ++i) {
    if (colour && columns[i] > 0) text += kColours[i];
    for (int column = 0; column < columns[i]; ++column)
      text += colour ? std::string("█") : std::string(1, kLetters[i]);
    if (colour && columns[i] > 0) text += "\x1b[0m";
  }
  text += "| 100 %\n";
  for (size_t i = 0; i < kOwners; ++i) {
    double share = diagnosis.shares.share[i];
    if (share <= 0 && Owner(i) != Owner::compute) continue;
    std::string mark =
        colour ? fmt::format("{}█\x1b[0m", kColours[i]) : std::string(1, kLetters[i]);
    text += fmt::format("  {} {:<11} {:5.1f} %  {:>9}  {}\n", mark, name(Owner(i)), 100 * share,
                        duration(share * diagnosis.step_seconds), kExplained[i]);
  }
  return text;
}

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) bytes /= 1000, ++unit;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, kUnits[unit]);
}

std::string pipeline_table(const PipelineReport& pipeline) {
  if (!pipeline.known) return "";
  std::string runs =
      pipeline.workers == 0
          ? "made by the training thread when it asks"
          : fmt::format("{:.0f} worker{}, {:.0f} batches prefetched", pipeline.workers,
                        pipeline.workers == 1 ? "" : "s", pipeline.depth);
  // Without workers no batch can lie ready.
  std::string ready = pipeline.workers == 0 ? ""
                                            : fmt::format(" a batch was ready in {} of the steps,",
                                                          percent(pipeline.ready_share));
  std::string text = fmt::format("\nPipeline: {}{};{} median wait {}\n", runs,
                                 pipeline.as_written ? " (as written)" : "", ready,
                                 duration(pipeline.median_wait_seconds));
  if (pipeline.stages.empty()) return text;
  text += fmt::format("  {:<34} {:>11} {:>8} {:>8} {:>11} {:>10}\n", "stage", "per element",
                      "share", "on core", "longest", "bytes");
  for (const StageReport& stage : pipeline.stages)
    text += fmt::format("  {:<34} {:>11} {:>8} {:>8} {:>11} {:>10}\n", stage.name,
                        duration(stage.seconds), percent(stage.share),
                        stage.cpu_share < 0 ? "?" : percent(stage.cpu_share),
                        stage.longest_seconds > 0 ? duration(stage.longest_seconds).text() : "",
                        stage.bytes > 0 ? bytes_text(stage.bytes) : "");
  return text;
}

std::string layer_table(const Diagnosis& diagnosis) {
  if (diagnosis.layers.empty()) return "";
  std::string text = fmt::format("\n{:<36} {:<9} {:>10} {:>10} {:>10}  {}\n", "Longest ops",
                                 "phase", "time", "of peak", "of memory", "limit");
  for (size_t i = 0; i < std::min(kMostLayers, diagnosis.layers.size()); ++i) {
    const LayerReport& layer = diagnosis.layers[i];
    text += fmt::format("  {:<34} {:<9} {:>10} {:>10} {:>10}  {}\n",
                        fmt::format("{}/{}", layer.layer, layer.op), layer.phase,
                        duration(layer.seconds), percent(layer.compute_share),
                        percent(layer.bandwidth_share), name(layer.limit));
  }
  return text;
}

bool is_refuted(const Prescription& prescription) {
  return prescription.tried && !prescription.kept;
}

std::string prescription_lines(const Diagnosis& diagnosis, bool refuted) {
  std::string text;
  int number = 0;
  for (const Prescription& each : diagnosis.prescriptions) {
    if (is_refuted(each) != refuted) continue;
    text += fmt::format("  {}. {}\n     {}\n", ++number, each.what, each.why);
    if (each.predicted_step_seconds > 0)
      text += fmt::format(
          "     at best {} per step ({:.2f}×); {}\n", duration(each.predicted_step_seconds),
          diagnosis.step_seconds / each.predicted_step_seconds, results_words(each));
    if (each.tried)
      text += fmt::format("     tried: {} → {} per step, gain {} [{}, {}]: {}{}\n",
                          duration(each.before_seconds), duration(each.after_seconds),
                          percent(each.gain), percent(each.gain_low), percent(each.gain_high),
                          each.kept ? "kept" : "taken back",
                          each.settled_seconds > 0
                              ? fmt::format("; {} once settled", duration(each.settled_seconds))
                              : "");
  }
  if (text.empty()) return "";
  return (refuted ? "\nTried and taken back:\n" : "\nWhat to do:\n") + text;
}

std::string fit_line(const FitShares& fit) {
  if (fit.seconds <= 0) return "";
  std::string text =
      fmt::format("The fit took {}: steps {}", duration(fit.seconds), percent(fit.steps));
  auto add = [&](const char* what, double share) {
    if (share >= kWorthTelling) text += fmt::format(", {} {}", what, percent(share));
  };
  add("validation", fit.validation);
  add("callbacks and checkpoints between epochs", fit.epoch_turns);
  add("reading loss and metrics", fit.read_back);
  add("unexplained", fit.unexplained);
  return text + "\n";
}

std::string memory_line(const Diagnosis& diagnosis) {
  if (!diagnosis.predicted_memory) return "";
  return fmt::format("Memory: {} predicted for the step, {} at most measured{}\n",
                     bytes_text(double(diagnosis.predicted_memory->total)),
                     bytes_text(double(diagnosis.measured_memory)),
                     diagnosis.device_name.starts_with("CPU") ? " (the whole process)" : "");
}

}  // namespace

std::string Diagnosis::text(bool colour) const {
  std::string text =
      colour ? fmt::format("\x1b[1m{}\x1b[0m\n", verdict.sentence) : verdict.sentence + "\n";
  for (const std::string& note : verdict.health)
    if (verdict.finding != Finding::health || note != verdict.health.front())
      text += "  health: " + note + "\n";
  text += fmt::format("\nA step takes {} ({:.0f} samples/s) on {}:\n", duration(step_seconds),
                      samples_per_second, device_name.empty() ? "this machine" : device_name);
  text += bars(*this, colour) + pipeline_table(pipeline);
  for (const CallbackReport& callback : callbacks)
    if (callback.seconds > 0.01 * step_seconds)
      text += fmt::format("Callback {}: {} per step\n", callback.name, duration(callback.seconds));
  text += layer_table(*this);
  if (!counterfactuals.empty()) text += "\nExperiments:\n";
  for (const Counterfactual& experiment : counterfactuals)
    text += fmt::format("  {:<24} {:>10}  {}\n", experiment.name, duration(experiment.seconds),
                        experiment.meaning);
  text += prescription_lines(*this, false) + prescription_lines(*this, true);
  for (const std::string& hint : verdict.hints) text += "  hint: " + hint + "\n";
  text += "\n" + fit_line(fit) + memory_line(*this) + "Trust: " + trust + ".\n";
  return text;
}

}  // namespace stoker::doctor
