#include "data/ops/check_count.h"

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker::data {

void check_count(const char* what, int64_t count, int64_t least) {
  if (count < least)
    throw ValueError(fmt::format("{}({}): expected at least {}", what, count, least));
}

}  // namespace stoker::data
