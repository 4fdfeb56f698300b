#include "data/ops/settings.h"

#include <fmt/format.h>

#include "data/runtime/planning.h"

namespace stoker::data {

std::string SettingsNode::details() const {
  const auto& [prefetch, budget, options] = stated;
  if (prefetch) return *prefetch == AUTOTUNE ? "AUTOTUNE" : std::to_string(*prefetch);
  if (budget) return fmt::format("cores = {}, bytes = {}", budget->cores, budget->bytes);
  std::vector<std::string> parts;
  if (!options->name.empty()) parts.push_back(fmt::format("name = \"{}\"", options->name));
  if (options->seed) parts.push_back(fmt::format("seed = {}", *options->seed));
  if (options->as_written) parts.emplace_back("as_written = true");
  static constexpr const char* kPolicies[] = {"automatic", "file", "data", "off"};
  if (options->auto_shard_policy)
    parts.push_back(
        fmt::format("auto_shard_policy = {}", kPolicies[size_t(*options->auto_shard_policy)]));
  if (!options->tuned.empty()) parts.push_back(fmt::format("tuned = \"{}\"", options->tuned));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Planned SettingsNode::plan(PlanContext& context) const {
  Planned planned = context.plan_input_with_gaps(*this);
  if (!stated.prefetch) return planned;
  if (!context.unfused()) {
    context.note(fmt::format("{} inside the chain is not needed: workers run ahead of every stage",
                             title(*this)));
    return planned;
  }
  planned.limits.depth = *stated.prefetch == AUTOTUNE ? 2 : *stated.prefetch;
  return context.materialised(std::move(planned), *this);
}

Dataset Dataset::prefetch(int64_t depth) const {
  if (depth != AUTOTUNE && depth < 0)
    throw ValueError(fmt::format("prefetch({}): expected 0 or more, or AUTOTUNE", depth));
  auto node = std::make_shared<SettingsNode>("prefetch", node_);
  node->stated.prefetch = depth;
  return Dataset(std::move(node));
}

Dataset Dataset::with_budget(const Budget& budget) const {
  if (budget.cores < 0 || budget.bytes < 0)
    throw ValueError(fmt::format("with_budget: cores is {} and bytes {}, expected 0 or more",
                                 budget.cores, budget.bytes));
  auto node = std::make_shared<SettingsNode>("with_budget", node_);
  node->stated.budget = budget;
  return Dataset(std::move(node));
}

Dataset Dataset::with_options(const DatasetOptions& options) const {
  auto node = std::make_shared<SettingsNode>("with_options", node_);
  node->stated.options = options;
  return Dataset(std::move(node));
}

}  // namespace stoker::data
