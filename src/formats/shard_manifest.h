// manifest.json, the file that makes a directory of shards a dataset: what an element is, how many
// there are and which shards hold them. JSON whose last member is the CRC-32C of all before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/tensor.h>

namespace stoker {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr uint64_t kMaxManifest = 64 << 20;

struct ShardManifest {
  struct Shard {
    std::string file;  // its name, without a directory
    uint64_t bytes = 0, records = 0;
    uint32_t crc = 0;  // the one in its footer
  };

  std::vector<TensorSpec> spec = {};
  std::vector<std::string> names = {};  // of the components, or none
  std::string fingerprint = {};
  uint64_t elements = 0;
  std::vector<Shard> shards = {};
};

// Trusts nothing in the text. ValueError when it is not a manifest, or one of another version.
ShardManifest parse_manifest(std::string_view text);

// ValueError when a name or the fingerprint is not UTF-8.
std::string make_manifest(const ShardManifest& manifest);

}  // namespace stoker
