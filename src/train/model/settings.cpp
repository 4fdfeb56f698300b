#include "train/model/settings.h"

#include <ostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/registry.h"
#include "train/step/program_cache.h"

namespace stoker {

namespace {

// Settings that differ from their defaults and that this engine does not have.
std::vector<std::string> without_effect(const Context& context, const BackendTraits& engine) {
  std::vector<std::string> changed;
  if (context.tf32 == true && !engine.tf32) changed.emplace_back("tf32");
  if (context.memory_fraction > 0 && !engine.own_memory) changed.emplace_back("memory_fraction");
  if (!context.memory_growth && !engine.own_memory) changed.emplace_back("memory_growth");
  if (!context.capture && !engine.captures) changed.emplace_back("capture");
  if (!context.pin && !engine.pins) changed.emplace_back("pin");
  return changed;
}

std::set<std::string> policies_without_effect(const Context& context, const BackendTraits& engine,
                                              const std::vector<std::string>& layer_policies) {
  if (engine.half_products) return {};
  std::set<std::string> policies(layer_policies.begin(), layer_policies.end());
  policies.insert(context.policy);
  policies.erase("");
  std::erase_if(policies, [&](const std::string& policy) {
    return compute_dtype(policy) == compute_dtype_of(policy, context);
  });
  return policies;
}

std::string without_products(const std::string& policy, const BackendTraits& engine) {
  return fmt::format("{}: this {} has no products in {}", policy, engine.title,
                     name(compute_dtype(policy)));
}

// A GPU that "auto" could not take is mentioned once per process.
void say_idle_devices(const Context& context, const BackendTraits& engine, std::ostream& out) {
  if (context.device != kAutomatic || engine.preferred) return;
  for (DeviceFamily* family : preferred_families()) {
    if (!family->first_look()) continue;
    Absence absence = family->absence();
    if (absence.idle)
      out << fmt::format(
          "This machine's {} stands idle: {}. To use it, {}; {} turns this line off.\n",
          family->traits().title, absence.why, absence.advice, "device = \"cpu\"");
  }
}

}  // namespace

void check_settings(const Context& context) {
  find_device(context.device);    // checks it
  compute_dtype(context.policy);  // likewise
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
  const BackendTraits& engine = traits_of(context);
  say_idle_devices(context, engine, out);
  for (const std::string& policy : policies_without_effect(context, engine, layer_policies))
    out << without_products(policy, engine) + "; training in float32\n";
  if (auto changed = without_effect(context, engine); !changed.empty())
    out << fmt::format("{}: for GPUs alone; without effect on the engine \"{}\"\n",
                       fmt::join(changed, ", "), engine.name);
  out << std::flush;
}

std::string precision_line(const Context& context) {
  if (compute_dtype(context.policy) == DType::float32) return "";
  DType dtype = compute_dtype_of(context);
  if (dtype == DType::float32)
    return without_products(context.policy, traits_of(context)) + "; products in float32\n";
  return fmt::format("{}: products in {}, sums and weights in float32\n", context.policy,
                     name(dtype));
}

std::string device_line(const Context& context) {
  FoundDevice device = find_device(context.device);
  if (!device.traits().beside_host) return "";
  return fmt::format("device  {}\n", device.described());
}

}  // namespace stoker
