// NVTX ranges: names for what runs, in the timelines of Nsight Systems and its like.
#pragma once

#include <memory>

#include "base/tracing.h"

namespace stoker {

// Null where the CUDA engine is not built. Without a tool attached, a range costs nanoseconds.
std::shared_ptr<RangeSink> nvtx_ranges();

}  // namespace stoker
