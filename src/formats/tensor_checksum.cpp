#include "formats/tensor_checksum.h"

#include <fmt/format.h>

#include "base/file.h"
#include "formats/crc32c.h"

namespace stoker {

std::string checksum_line(const Tensor& tensor) {
  uint32_t crc = 0;
  if (tensor.dtype() == DType::bytes) {
    for (const std::string& text : tensor.values<std::string>()) {
      uint64_t size = text.size();
      crc = crc32c(as_bytes(text), crc32c(std::as_bytes(std::span(&size, 1)), crc));
    }
  } else {
    crc = crc32c({static_cast<const std::byte*>(tensor.raw()), tensor.bytes()});
  }
  return fmt::format("{} {:08x}", to_string(TensorSpec{tensor.dtype(), tensor.shape()}), crc);
}

}  // namespace stoker
