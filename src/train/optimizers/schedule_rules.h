// The formulas of the schedules, in ops: from a float32 step to a float32 rate.
#pragma once

#include <string>

#include <stoker/schedules.h>

namespace stoker {

struct ScheduleRule {
  std::string kind;                    // "CosineDecay"
  Attrs defaults;                      // every option; the values show their types
  void (*check)(const Attrs& config);  // ValueError
  Value (*rate)(const Attrs& config, const Value& step);
  Attrs optional = {};  // options that may be absent
  // The momentum that goes with the rate; null: it is left alone. `cycle_momentum` turns it off.
  Value (*momentum)(const Attrs& config, const Value& step) = nullptr;
};

// All but WarmUp, which has another schedule inside it.
const std::vector<ScheduleRule>& schedule_rules();

// ValueError "KIND: OPTION is GOT, expected EXPECTED" unless it is good.
void check_schedule(bool good, const char* kind, const char* option, double got,
                    const char* expected);

}  // namespace stoker
