// The input is the manifest up to its checksum, which the target adds. What was parsed must be the
// same after it was written and parsed again.
#include <string>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"
#include "formats/checkpoint_manifest.h"
#include "formats/crc32c.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stoker;
  std::string text(reinterpret_cast<const char*>(data), size);
  text += fmt::format(",\"crc32c\":\"{:08x}\"}}\n", crc32c(as_bytes(text)));
  CheckpointManifest manifest;
  try {
    manifest = parse_checkpoint_manifest(text);
  } catch (const ValueError&) {
    return 0;
  }
  std::string once = make_checkpoint_manifest(manifest);
  test::expect(make_checkpoint_manifest(parse_checkpoint_manifest(once)) == once);
  return 0;
}
