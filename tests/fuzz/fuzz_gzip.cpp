#include <string>
#include <vector>

#include <stoker/error.h>

#include "base/memory_file.h"
#include "formats/gzip.h"
#include "fuzz/fuzz.h"

namespace {

using namespace stoker;

// What comes out when it is read in pieces of that size, and whether it ends in an error.
std::pair<std::vector<std::byte>, bool> unpack(std::span<const std::byte> bytes,
                                               DeflateWrapper wrapper, size_t piece) {
  constexpr size_t kMost = 1 << 22;
  MemoryFile file("input", bytes);
  std::vector<std::byte> out;
  try {
    GzipReader reader(file, wrapper);
    while (out.size() < kMost) {
      size_t before = out.size();
      out.resize(before + piece);
      size_t count = reader.read(std::span(out).subspan(before));
      out.resize(before + count);
      if (count < piece) return {out, false};
    }
  } catch (const FileError&) {
    return {{}, true};
  }
  return {{}, false};  // large: not compared
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::Input input(data, size);
  auto wrapper = input.byte() % 2 == 0 ? DeflateWrapper::gzip : DeflateWrapper::zlib;
  auto whole = unpack(input.rest(), wrapper, 1 << 16);
  auto pieces = unpack(input.rest(), wrapper, 61);
  test::expect(whole.second == pieces.second);
  if (!whole.first.empty() && !pieces.first.empty()) test::expect(whole.first == pieces.first);
  MemoryFile file("input", input.rest());
  is_gzip(file);
  return 0;
}
