// The check of counts that take, skip, repeat, shard and shuffle share.
#pragma once

#include <cstdint>

namespace stoker::data {

// ValueError, naming the op, for a count below the least that it takes.
void check_count(const char* what, int64_t count, int64_t least);

}  // namespace stoker::data
