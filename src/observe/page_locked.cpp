#include "observe/page_locked.h"

#include <cstring>

#include "base/host_memory.h"

namespace stoker {

Tensor page_locked_copy(const Tensor& tensor) {
  std::shared_ptr<void> owner = take_shared(pinned_memory(), tensor.bytes());
  std::memcpy(owner.get(), tensor.raw(), tensor.bytes());
  return Tensor::wrap(owner, owner.get(), tensor.dtype(), tensor.shape());
}

}  // namespace stoker
