// Conversion of one number between element types, defined for every value: floats go to integers
// towards zero and stop at the integer's limits (NaN becomes 0), integers wrap among themselves,
// and everything but zero is true. What C++ leaves undefined would otherwise differ between
// processors.
#pragma once

#include <limits>
#include <type_traits>

#include <stoker/dtype.h>

namespace stoker {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_half<From>) {
    return convert<To>(float(value));
  } else if constexpr (is_half<To>) {
    return To(float(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // From(max) may round up to max + 1, which is out of range itself: hence >=.
    if (value >= From(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (value <= From(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return value == value ? To(value) : To(0);
  } else {
    return To(value);
  }
}

}  // namespace stoker
