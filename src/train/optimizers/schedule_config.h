// A schedule inside a flat configuration: NAME holds its kind, NAME/OPTION its options. So a learning
// rate, a number or a schedule, is a field like any other (base/fields.h).
#pragma once

#include <string>

#include <stoker/schedules.h>

#include "base/field_types.h"

namespace stoker {

LearningRateSchedule schedule_from_entries(const std::string& name, const Attrs& entries);

template <>
struct FieldType<LearningRate> : fields::PlainField {
  static constexpr const char* kName = "a number or the kind of a schedule";
  static constexpr bool kNested = true;
  static void write(Attrs& attrs, std::string_view name, const LearningRate& value);
  static bool read(const Attrs& attrs, std::string_view name, LearningRate& value);
  static std::string text(const LearningRate& value);
  static std::vector<double> numbers(const LearningRate& value);  // none of a schedule
};

}  // namespace stoker
