#include "engine/backend.h"

#include <fmt/format.h>

#include "engine/cpu/cpu_backend.h"
#include "engine/reference/reference_backend.h"

namespace stoker {

Backend& backend(std::string_view device) {
  if (device == "cpu") return cpu_backend();
  if (device == "reference") return reference_backend();
  throw ValueError(fmt::format("unknown device \"{}\"; there are cpu, reference", device));
}

}  // namespace stoker
