#include "observe/words.h"

#include <algorithm>
#include <cmath>

#include "base/enum_names.h"

namespace stoker::doctor {

static_assert(enumerators<Owner>() == kOwners);

std::string_view name(Owner owner) { return enumerator_name(owner); }
std::string_view name(Limit limit) { return enumerator_name(limit); }
std::string_view name(Finding finding) { return enumerator_name(finding); }
std::string_view name(Cause cause) { return enumerator_name(cause); }
std::string_view name(Knob knob) { return enumerator_name(knob); }
std::string_view name(Action action) { return enumerator_name(action); }

Phrase percent(double share) {
  double value = 100 * share;
  return say("{:.{}f} %", value, std::abs(value) < 1 && value != 0 ? 1 : 0);
}

Phrase duration(double seconds) {
  if (seconds < 1e-6) return say("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return say("{:.1f} µs", seconds * 1e6);
  if (seconds < 1) return say("{:.{}f} ms", seconds * 1e3, seconds < 0.01 ? 2 : 1);
  return say("{:.2f} s", seconds);
}

Phrase words_of(Limit limit) { return Phrase(name(limit), "none"); }

std::string above_peak(std::span<const LayerReport> ops) {
  constexpr double kAll = 1.005;  // what is shown as more than 100 %
  auto count = std::ranges::count_if(ops, [](const LayerReport& op) {
    return op.compute_share > kAll || op.bandwidth_share > kAll;
  });
  if (count == 0) return "";
  return fmt::format("; {} {} above the measured peak: the peak or the count is off", count,
                     count == 1 ? "op is" : "ops are");
}

}  // namespace stoker::doctor
