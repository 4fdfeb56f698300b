#include "observe/page_locked.h"

#include <cstring>

namespace stoker {

Tensor copy_into(HostMemory& memory, const Tensor& tensor) {
  std::shared_ptr<void> owner = take_shared(memory, tensor.bytes());
  std::memcpy(owner.get(), tensor.raw(), tensor.bytes());
  return Tensor::wrap(owner, owner.get(), tensor.dtype(), tensor.shape());
}

}  // namespace stoker
