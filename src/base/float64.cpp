#include "base/float64.h"

#include <atomic>
#include <ostream>

#include <fmt/format.h>
#include <stoker/context.h>

namespace stoker {

Tensor from_float64(std::span<const double> values, const Shape& shape, const std::string& source) {
  static std::atomic<bool> said = false;
  std::ostream* out = default_context().out;
  if (out != nullptr && !said.exchange(true))
    *out << fmt::format("{}: float64 values are kept as float32\n", source) << std::flush;
  try {
    return Tensor::from(values, shape);
  } catch (const ValueError& error) {
    throw FileError(fmt::format("{}: {}", source, error.what()));
  }
}

}  // namespace stoker
