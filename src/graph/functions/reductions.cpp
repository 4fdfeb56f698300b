#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"

namespace stoker::ops {

namespace {

Value reduce(const char* fn, const Value& x, const Reduce& options) {
  return emit::reduce(fn, x, normalize_axes(fn, options.axes, x.shape().rank()), options.keepdims);
}

// Integers have a float32 mean, and the short ones (a mask's bools) an int32 sum.
Value averaged(const Value& x) {
  return is_floating(x.dtype()) ? x : emit::cast(x, DType::float32);
}
Value counted(const Value& x) {
  return is_floating(x.dtype()) ? x : emit::cast(x, promoted(x.dtype(), DType::int32));
}

}  // namespace

Value sum(const Value& x, const Reduce& options) { return reduce("sum", counted(x), options); }
Value mean(const Value& x, const Reduce& options) { return reduce("mean", averaged(x), options); }
Value max(const Value& x, const Reduce& options) { return reduce("max", x, options); }
Value min(const Value& x, const Reduce& options) { return reduce("min", x, options); }
Value prod(const Value& x, const Reduce& options) { return reduce("prod", counted(x), options); }

Value argmax(const Value& x, int axis) {
  return apply1("argmax", {x}, {{"axis", normalize_axis("argmax", axis, x.shape().rank())}});
}

}  // namespace stoker::ops
