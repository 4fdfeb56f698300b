#include "compress/lighter.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/flops.h>

#include "compress/masks.h"
#include "compress/rebuild.h"

namespace stoker {

namespace {

// Empty where they depend on dimensions that only a batch has.
std::optional<double> known_flops(const Model& model) {
  try {
    return count_flops(model);
  } catch (const Error&) {
    return {};
  }
}

std::string ratio_text(double before, double after) {
  return before > 0 ? fmt::format("{:.1f} %", 100 * after / before) : "–";
}

}  // namespace

std::string LighterReport::text() const {
  std::string text = fmt::format("parameters  {} → {}  ({})\n", parameters_before, parameters_after,
                                 ratio_text(double(parameters_before), double(parameters_after)));
  if (flops_before && flops_after)
    text += fmt::format("FLOPs       {:.4g} → {:.4g}  ({})\n", *flops_before, *flops_after,
                        ratio_text(*flops_before, *flops_after));
  for (const LayerChange& each : changes)
    text += fmt::format("{}: {}{}\n", each.layer, each.change,
                        each.error ? fmt::format(", weights differ by {:.1f} %", 100 * *each.error)
                                   : ", weights drawn anew");
  for (const NotPruned& each : unchanged)
    text += fmt::format("Unchanged: {}: {}\n", each.layer, each.reason);
  return text;
}

namespace compress {

void count_costs(const Model& before, const Model& after, LighterReport& report) {
  report.parameters_before = before.count_params();
  report.parameters_after = after.count_params();
  report.flops_before = known_flops(before);
  report.flops_after = known_flops(after);
}

Selection::Selection(const Model& model, std::vector<std::string> layers,
                     std::vector<std::string> exclude, const char* action)
    : layers_(std::move(layers)), exclude_(std::move(exclude)), action_(action) {
  check_names(model, layers_, action);
  check_names(model, exclude_, action);
}

bool Selection::has(const std::string& path) const {
  return (layers_.empty() || names_it(layers_, path)) && !names_it(exclude_, path);
}

void Selection::pass_over(const std::string& path, const std::string& reason,
                          LighterReport& report) const {
  if (names_it(layers_, path))
    throw ValueError(fmt::format("{}: layer \"{}\": {}", action_, path, reason));
  report.unchanged.push_back({path, reason});
}

void Selection::check_changed(const LighterReport& report) const {
  if (!report.changes.empty()) return;
  throw ValueError(fmt::format(
      "{}: no layer of the model would get lighter{}", action_,
      report.unchanged.empty()
          ? ""
          : fmt::format(": {}: {}", report.unchanged[0].layer, report.unchanged[0].reason)));
}

}  // namespace compress

}  // namespace stoker
