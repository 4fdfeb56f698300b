// The input is a file, read as it is and, where it begins with a checksum, once more with that one
// made right: mutations get past it. What was read must be the same after it was written and read
// again.
#include <cstring>
#include <string>

#include <stoker/error.h>

#include "formats/safetensors.h"
#include "formats/safetensors_checksums.h"
#include "fuzz/fuzz.h"

namespace {

using namespace stoker;

void read(const std::string& bytes) {
  try {
    SafetensorsFile file = parse_safetensors(as_bytes(bytes), "input");
    for (const auto& [name, tensor] : file.tensors)
      test::touch({static_cast<const std::byte*>(tensor.raw()), tensor.bytes()});
    std::string head, again;
    for (auto piece : safetensors_pieces(file, head))
      again.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    SafetensorsFile back = parse_safetensors(as_bytes(again), "again");
    test::expect(back.tensors.size() == file.tensors.size() && back.metadata == file.metadata &&
                 back.checksums == file.checksums);
  } catch (const FileError&) {
  }
}

// With the right checksum of the header; empty where it has none.
std::string repaired(const std::string& bytes) {
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) return {};
  std::memcpy(&length, bytes.data(), sizeof(length));
  std::string header = bytes.substr(sizeof(length), length);
  try {
    if (!check_header(header)) return {};
  } catch (const ValueError&) {
    if (!seal_header(header)) return {};
  }
  return bytes.substr(0, sizeof(length)) + header + bytes.substr(sizeof(length) + header.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  read(repaired(bytes));
  return 0;
}
