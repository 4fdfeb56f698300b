// How much an augmentation may draw: a number, or a lowest and a highest one.
#pragma once

#include <optional>

namespace stoker {

// 0.2 or {-0.1, 0.3}. What a single number stands for, each augmentation says: -f … f or 0 … f.
struct Factor {
  double low = 0;
  std::optional<double> high = {};
  Factor(double single) : low(single) {}
  Factor(double lowest, double highest) : low(lowest), high(highest) {}
  friend bool operator==(const Factor&, const Factor&) = default;
};

}  // namespace stoker
