// The kinds of constraints, as tables (base/fields.h): constraints.cpp.
#pragma once

#include <functional>
#include <vector>

#include <stoker/constraints.h>

#include "base/fields.h"
#include "nn/names.h"

namespace stoker {

struct ConstraintKind {
  KindNames names;
  std::function<void(const Attrs& config)> check;  // ValueError
  std::function<Value(const Attrs& config, const Value& weight)> apply;
  std::function<std::vector<FieldText>()> fields;
};

// In the order in which errors list them.
const std::vector<ConstraintKind>& constraint_kinds();

}  // namespace stoker
