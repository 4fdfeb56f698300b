// What the layers share that look rows up by number.
#pragma once

#include <stoker/layer.h>

namespace stoker {

// x as integers for ops::gather. The engine refuses a batch with a number that is not below `rows`.
Value row_ids(const Value& x, int64_t rows, CallContext& context);

}  // namespace stoker
