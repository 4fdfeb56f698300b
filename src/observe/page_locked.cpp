#include "observe/page_locked.h"

#include <cstring>
#include <memory>

#include "base/host_memory.h"

namespace stoker {

Tensor page_locked_copy(const Tensor& tensor) {
  HostMemory& memory = pinned_memory();
  size_t bytes = tensor.bytes();
  std::shared_ptr<void> owner(memory.allocate(bytes),
                              [&memory, bytes](void* data) { memory.release(data, bytes); });
  std::memcpy(owner.get(), tensor.raw(), bytes);
  return Tensor::wrap(owner, owner.get(), tensor.dtype(), tensor.shape());
}

}  // namespace stoker
