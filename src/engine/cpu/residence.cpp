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
  came_finite_ =
      value.dtype() != DType::float32 ||
      std::ranges::all_of(value.values<float>(), [](float x) { return std::isfinite(x); });
  if (layout_.is_plain())
    std::memcpy(data(), value.raw(), value.bytes());
  else
    reorder_now(layout_.row_major(), const_cast<void*>(value.raw()), layout_.desc(), data());
}

std::shared_ptr<CpuResidence> VariableHomes::find(const Variable& variable) const {
  std::lock_guard lock(mutex_);
  auto found = homes_.find(variable.id());
  return found == homes_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<CpuResidence> VariableHomes::make(const Variable& variable, const Layout& layout) {
  std::lock_guard lock(mutex_);
  std::erase_if(homes_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<CpuResidence>& entry = homes_[variable.id()];
  std::shared_ptr<CpuResidence> home = entry.lock();
  if (home == nullptr) entry = home = std::make_shared<CpuResidence>(variable.spec(), layout);
  return home;
}

}  // namespace stoker::cpu
