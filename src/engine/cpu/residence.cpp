#include "engine/cpu/residence.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/cpu/runtime.h"

namespace stoker::cpu {

CpuResidence::CpuResidence(const TensorSpec& spec, const Layout& layout)
    : spec_(spec), layout_(layout), block_(layout.bytes(spec)) {}

Tensor CpuResidence::read() const {
  Tensor value(spec_.dtype, spec_.shape);
  if (layout_.is_plain())
    std::memcpy(value.raw_mut(), data(), value.bytes());
  else
    reorder_now(layout_.desc(), data(), layout_.row_major(), value.raw_mut());
  return value;
}

void CpuResidence::write(const Tensor& value) {
  changed();
  came_finite_ =
      value.dtype() != DType::float32 ||
      std::ranges::all_of(value.values<float>(), [](float x) { return std::isfinite(x); });
  if (layout_.is_plain())
    std::memcpy(data(), value.raw(), value.bytes());
  else
    reorder_now(layout_.row_major(), const_cast<void*>(value.raw()), layout_.desc(), data());
}

}  // namespace stoker::cpu
