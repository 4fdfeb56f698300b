// Elements from packed shards, for load() and for cache(path).
#pragma once

#include "data/runtime/making.h"
#include "formats/shards.h"

namespace stoker::data {

// Element `index` of the shards, components [0, count) of it; numbers are not copied.
void write_record(const ShardReader& reader, int64_t index, size_t count, ShardRecord& record,
                  ElementWriter& out);

}  // namespace stoker::data
