#include "engine/backend.h"

#include <fmt/format.h>

#if __has_include("engine/cpu/cpu_backend.h")
#include "engine/cpu/cpu_backend.h"
#endif
#include "engine/reference/reference_backend.h"

namespace stoker {

Backend& backend(std::string_view device) {
#if __has_include("engine/cpu/cpu_backend.h")
  if (device == "cpu") return cpu_backend();
#endif
  if (device == "reference") return reference_backend();
  throw ValueError(fmt::format("unknown device \"{}\"; there are cpu, reference", device));
}

}  // namespace stoker
