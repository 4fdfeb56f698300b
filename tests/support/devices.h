// The devices of this build that tests of whole models run on.
#pragma once

#include <string>
#include <vector>

#include "engine/registry.h"

namespace stoker::test {

// Not the CPU engine under ThreadSanitizer (support/tsan.h).
inline std::vector<std::string> devices() {
#ifdef STOKER_TSAN
  return {"reference"};
#else
  std::vector<std::string> names = {"reference", "cpu"};
  if (is_usable("cuda")) names.emplace_back("cuda");
  return names;
#endif
}

}  // namespace stoker::test
