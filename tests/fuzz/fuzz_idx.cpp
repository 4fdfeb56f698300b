#include <stoker/error.h>

#include "base/memory_file.h"
#include "formats/idx.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stoker::MemoryFile file("input", std::as_bytes(std::span(data, size)));
  try {
    stoker::Tensor tensor = stoker::read_idx(file);
    stoker::test::touch({static_cast<const std::byte*>(tensor.raw()), tensor.bytes()});
  } catch (const stoker::FileError&) {
  }
  return 0;
}
