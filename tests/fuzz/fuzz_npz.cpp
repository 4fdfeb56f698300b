#include <stoker/error.h>

#include "base/memory_file.h"
#include "formats/npy.h"
#include "formats/zip.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stoker;
  MemoryFile file("input", std::as_bytes(std::span(data, size)));
  try {
    for (const ZipEntry& entry : list_zip(file)) {
      if (entry.bytes > 1 << 22) continue;  // a compressed entry can be long
      try {
        ZipEntryReader reader(file, entry);
        read_npy(
            {entry.name, entry.bytes, [&](std::span<std::byte> out) { return reader.read(out); }});
      } catch (const FileError&) {
      }
    }
  } catch (const FileError&) {
  }
  return 0;
}
