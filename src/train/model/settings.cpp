#include "train/model/settings.h"

#include <ostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/backend.h"
#include "train/step/program_cache.h"

namespace stoker {

namespace {

// GPU settings that differ from their defaults.
std::vector<std::string> gpu_settings(const Context& context) {
  std::vector<std::string> changed;
  if (context.tf32) changed.emplace_back("tf32");
  if (context.memory_fraction > 0) changed.emplace_back("memory_fraction");
  if (!context.memory_growth) changed.emplace_back("memory_growth");
  if (!context.capture) changed.emplace_back("capture");
  if (!context.pin) changed.emplace_back("pin");
  return changed;
}

std::set<std::string> policies_without_effect(const Context& context,
                                              const std::vector<std::string>& layer_policies) {
  if (engine_name(context) == "cuda") return {};  // has them all
  std::set<std::string> policies(layer_policies.begin(), layer_policies.end());
  policies.insert(context.policy);
  policies.erase("");
  std::erase_if(policies, [&](const std::string& policy) {
    return compute_dtype(policy) == compute_dtype_of(policy, context);
  });
  return policies;
}

}  // namespace

void check_settings(const Context& context) {
  check_device(context.device);
  compute_dtype(context.policy);  // checks it
  if (context.threads.pipeline < 0 || context.threads.compute < 0)
    throw ValueError(fmt::format(
        "Context::threads: expected 0 (automatic) or more, got {{pipeline = {}, compute = {}}}",
        context.threads.pipeline, context.threads.compute));
  if (!(context.memory_fraction >= 0 && context.memory_fraction <= 1))
    throw ValueError(fmt::format("Context::memory_fraction: expected a number in [0, 1], got {}",
                                 context.memory_fraction));
}

void say_settings_without_effect(const Context& context,
                                 const std::vector<std::string>& layer_policies) {
  if (context.out == nullptr) return;
  std::ostream& out = *context.out;
  std::string why, engine(engine_name(context));
  if (context.device.starts_with("cuda") && !has_cuda(&why))
    out << fmt::format("{}: {}; training on the CPU\n", context.device, why);
  for (const std::string& policy : policies_without_effect(context, layer_policies))
    out << fmt::format(
        "{}: the engine \"{}\" has no products of sixteen bits; training in float32\n", policy,
        engine);
  if (engine == "cuda") return;
  if (auto changed = gpu_settings(context); !changed.empty())
    out << fmt::format("{}: for GPUs alone; without effect on the engine \"{}\"\n",
                       fmt::join(changed, ", "), engine);
  out << std::flush;
}

}  // namespace stoker
