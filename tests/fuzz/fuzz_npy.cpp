// What can be read is written and read again: the same tensor.
#include <stoker/error.h>

#include "base/memory_file.h"
#include "formats/npy.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stoker;
  MemoryFile file("input", std::as_bytes(std::span(data, size)));
  try {
    Tensor tensor = read_npy(file);
    bool texts = tensor.dtype() == DType::bytes;
    std::string written = npy_header(tensor);
    if (texts)
      written += npy_texts(tensor);
    else
      written.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
    MemoryFile again("written", as_bytes(written));
    test::expect(read_npy(again) == tensor);
  } catch (const FileError&) {
  }
  return 0;
}
