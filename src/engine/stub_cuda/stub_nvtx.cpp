#include "engine/cuda/nvtx.h"

namespace stoker {

std::shared_ptr<RangeSink> nvtx_ranges() { return nullptr; }

}  // namespace stoker
