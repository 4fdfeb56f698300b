#include <stoker/error.h>

#include "formats/safetensors.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    auto file = stoker::parse_safetensors(std::as_bytes(std::span(data, size)), "input");
    for (const auto& [name, tensor] : file.tensors)
      stoker::test::touch({static_cast<const std::byte*>(tensor.raw()), tensor.bytes()});
  } catch (const stoker::FileError&) {
  }
  return 0;
}
