// The masks that a graph was traced with (Variable::mask), among its notes(): a program whose
// parameters have got other ones since is out of date.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/mask_changes.h"

namespace stoker {

struct TrainedMasks {
  std::vector<std::pair<Variable, Variable>> of;  // a parameter, and its mask or undefined
  uint64_t checked = 0;                           // mask_changes() when they were last compared

  void note(const Variable& parameter) {
    of.emplace_back(parameter, parameter.mask());
    checked = mask_changes();
  }
  bool current() {
    uint64_t now = mask_changes();
    if (checked == now) return true;
    bool same =
        std::ranges::all_of(of, [](const auto& each) { return each.first.mask() == each.second; });
    if (same) checked = now;
    return same;
  }
};

// The value, zero where the parameter's mask hides it.
Value unhidden(const Variable& parameter, const Value& value);

}  // namespace stoker
