// A schedule inside a flat configuration: NAME holds its kind, NAME/OPTION its options.
#pragma once

#include <string>

#include <stoker/schedules.h>

namespace stoker {

Attrs schedule_entries(const std::string& name, const LearningRateSchedule& schedule);
LearningRateSchedule schedule_from_entries(const std::string& name, const Attrs& entries);

}  // namespace stoker
