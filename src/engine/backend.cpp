#include "engine/backend.h"

#include <algorithm>

#include "base/memory_info.h"

namespace stoker {

size_t Backend::free_bytes(const CompileOptions& options) const {
  auto free = size_t(available_memory());
  return options.memory_limit > 0 ? std::min(free, options.memory_limit) : free;
}

size_t Backend::cache_bytes() const { return last_cache_bytes(); }

}  // namespace stoker
