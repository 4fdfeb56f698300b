#include "engine/input_limits.h"

#include <cmath>

#include <fmt/format.h>

#include "base/visit_dtype.h"

namespace stoker {

namespace {

// The first element that is no index in [0, limit), or -1.
template <class T>
int64_t find_violation(std::span<const T> values, int64_t limit) {
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      int64_t value = +values[i];  // promoted first: a signed char is no character here
      if (value < 0 || value >= limit) return int64_t(i);
    } else {
      auto value = float(values[i]);
      if (!(value >= 0 && value < float(limit) && value == std::trunc(value))) return int64_t(i);
    }
  }
  return -1;
}

}  // namespace

std::string limit_violation(const InputLimit& limit, const Tensor& tensor) {
  int64_t at = visit_numeric(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    return find_violation(tensor.values<T>(), limit.limit);
  });
  if (at < 0) return "";
  double value = tensor.at(at);
  if (value != std::trunc(value))  // NaN too
    return fmt::format("{} {} at element {} is not a whole number", limit.what, value, at);
  return fmt::format("{} {} at element {} is outside [0, {})", limit.what, value, at, limit.limit);
}

}  // namespace stoker
