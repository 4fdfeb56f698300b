// The plan of a dataset and what was measured, for people and for programs.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "data/runtime/cache_place.h"
#include "data/runtime/run.h"
#include "formats/json.h"

namespace stoker::data {

namespace {

using nlohmann::json;

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) bytes /= 1000, ++unit;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, kUnits[unit]);
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} µs", ns * 1e-3);
  return fmt::format("{:.2f} ms", ns * 1e-6);
}

std::string count_text(Cardinality of) {
  if (!of.known()) return "unknown number of elements";
  return of.infinite() ? "without end" : fmt::format("{} elements", *of.count);
}

// From the source to the end; sides of a zip first, indented.
void collect(const Node& node, int indent, std::vector<std::pair<const Node*, int>>& out) {
  for (const NodeRef& input : node.inputs())
    collect(*input, indent + (node.inputs().size() > 1 ? 1 : 0), out);
  out.emplace_back(&node, indent);
}

struct Measured {
  double seconds = 0, batches = 0, rate = 0, waits = 0, busy = 0;
};

Measured measured(const Run& run) {
  Measured result;
  if (run.stats == nullptr) return result;
  result.seconds = double(run.elapsed_ns.load()) * 1e-9;
  result.batches = double(run.stats->delivered.value());
  if (result.seconds <= 0) return result;
  result.rate = result.batches / result.seconds;
  result.waits = double(run.stats->wait_ns.value()) * 1e-9 / result.seconds;
  result.busy = double(run.stats->busy_ns.value()) * 1e-9 / result.seconds;
  return result;
}

std::string plan_line(const Run& run) {
  double workers = run.stats->workers.value(), depth = run.stats->depth.value();
  if (workers == 0) return "no workers: the consumer makes each batch itself";
  return fmt::format("{:.0f} worker{}{}, {:.0f} batch{} prefetched{}, {}, {} memory", workers,
                     workers == 1 ? "" : "s", run.tunes_workers ? " (tuned)" : "", depth,
                     depth == 1 ? "" : "es", run.tunes_depth ? " (tuned)" : "",
                     run.ordered ? "in order" : "in completion order",
                     run.page_locked ? "pinned" : "pageable");
}

std::string restore_line(const Run& run) {
  if (!run.replay.empty()) return "replays: " + run.replay;
  return run.random_access ? "at once: the place is a number" : "by drawing positions again";
}

std::vector<std::string> notes_of(const Run& run) {
  std::vector<std::string> notes = run.notes;
  if (!run.notices) return notes;
  for (std::string& line : run.notices->all()) notes.push_back(std::move(line));
  return notes;
}

}  // namespace

std::string explain_text(const Run& run) {
  const std::string& name = run.settings.options.name;
  std::string text = fmt::format("dataset{}: {}, {}{}\n", name.empty() ? "" : " \"" + name + "\"",
                                 to_string(run.root->spec()), count_text(run.root->cardinality()),
                                 run.random_access ? ", random access" : ", a stream");
  std::vector<std::pair<const Node*, int>> nodes;
  collect(*run.root, 0, nodes);
  size_t width = 0;
  for (auto [node, indent] : nodes)
    width = std::max(width, title(*node).size() + size_t(2 * indent));
  width = std::min<size_t>(width, 72);
  for (auto [node, indent] : nodes) {
    std::string line = fmt::format("  {:{}}{}", "", 2 * indent, title(*node));
    const StageStats* stage = stats_of(run, node);
    if (was_measured(stage))
      line =
          fmt::format("{:<{}}  {:>9} per element, {}", line, width + 2, time_text(stage->mean_ns()),
                      bytes_text(double(stage->bytes.value()) / double(stage->sampled.value())));
    text += line + "\n";
  }
  text += "runs with " + plan_line(run) + "\n";
  for (const std::string& note : notes_of(run)) text += "  " + note + "\n";
  text += "restores " + restore_line(run) + "\n";

  Measured now = measured(run);
  if (now.batches > 0)
    text += fmt::format(
        "measured: {:.0f} batches in {:.2f} s ({:.1f} per second); the consumer waited {:.1f} % of "
        "the "
        "time, workers were busy {:.2f} cores\n",
        now.batches, now.seconds, now.rate, 100 * now.waits, now.busy);
  text += fmt::format(
      "memory: {} now, {} at most, {} allowed\n", bytes_text(double(run.budget->used())),
      bytes_text(double(run.budget->peak())), bytes_text(double(run.budget->limit())));
  size_t bad = 0;
  for (const auto& quarantine : run.quarantines) bad += quarantine->list().size();
  if (bad > 0) text += fmt::format("quarantine: {} elements could not be made\n", bad);
  if (CacheAdvice advice = cache_advice(run); advice.bytes > 0 && advice.fits)
    text += fmt::format(
        "advice: cache() after {}{} would hold {} and save {} per element from the second "
        "epoch on\n",
        advice.after, advice.shuffle.empty() ? "" : fmt::format(" and before {}", advice.shuffle),
        bytes_text(advice.bytes), time_text(advice.saved_ns));
  return printable_lines(text);
}

std::string explain_as_json(const Run& run) {
  json stages = json::array();
  std::vector<std::pair<const Node*, int>> nodes;
  collect(*run.root, 0, nodes);
  for (auto [node, indent] : nodes) {
    json stage{{"kind", node->kind()},
               {"details", node->details()},
               {"depth", indent},
               {"spec", to_string(node->spec())},
               {"random_access", node->random_access()}};
    if (const StageStats* stats = stats_of(run, node); was_measured(stats)) {
      stage["ns_per_element"] = stats->mean_ns();
      stage["bytes_per_element"] = double(stats->bytes.value()) / double(stats->sampled.value());
      stage["sampled"] = stats->sampled.value();
      stage["random"] = stats->random;
    }
    stages.push_back(std::move(stage));
  }
  Measured now = measured(run);
  json quarantine = json::array();
  for (const auto& list : run.quarantines)
    for (const BadElement& bad : list->list())
      quarantine.push_back({{"epoch", bad.epoch}, {"index", bad.index}, {"message", bad.message}});
  Cardinality count = run.root->cardinality();
  json cardinality = "unknown";
  if (count.infinite())
    cardinality = "infinite";
  else if (count.known())
    cardinality = *count.count;
  json advice = nullptr;
  if (CacheAdvice cache = cache_advice(run); cache.bytes > 0 && cache.fits)
    advice = {{"cache_after", cache.after},
              {"bytes", cache.bytes},
              {"saves_ns_per_element", cache.saved_ns}};
  return dump_report({{"name", run.settings.options.name},
                      {"spec", to_string(run.root->spec())},
                      {"cardinality", cardinality},
                      {"random_access", run.random_access},
                      {"as_written", run.settings.options.as_written},
                      {"stages", stages},
                      {"notes", notes_of(run)},
                      {"restore", restore_line(run)},
                      {"workers", run.stats->workers.value()},
                      {"depth", run.stats->depth.value()},
                      {"workers_tuned", run.tunes_workers},
                      {"depth_tuned", run.tunes_depth},
                      {"ordered", run.ordered},
                      {"page_locked", run.page_locked},
                      {"seconds", now.seconds},
                      {"batches", now.batches},
                      {"batches_per_second", now.rate},
                      {"consumer_wait_share", now.waits},
                      {"busy_cores", now.busy},
                      {"memory_bytes", run.budget->used()},
                      {"memory_peak_bytes", run.budget->peak()},
                      {"memory_limit_bytes", run.budget->limit()},
                      {"quarantine", quarantine},
                      {"advice", advice}});
}

}  // namespace stoker::data
