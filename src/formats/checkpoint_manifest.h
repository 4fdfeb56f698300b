// manifest.json of a checkpoint: where the training stood, and size and checksum of every file
// beside it. docs/formats/checkpoint.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

inline constexpr uint64_t kMaxCheckpointManifest = 1 << 20;

struct CheckpointManifest {
  struct File {
    std::string name;  // without a directory
    uint64_t bytes = 0;
    uint32_t crc = 0;  // CRC-32C of all of it
  };

  uint64_t epoch = 0, step = 0;
  std::optional<double> monitored = {};  // what BackupOptions::monitor names, at an epoch's end
  std::vector<File> files = {};
};

// Trusts nothing in the text. ValueError when it is not a manifest, or one of another version.
CheckpointManifest parse_checkpoint_manifest(std::string_view text);
std::string make_checkpoint_manifest(const CheckpointManifest& manifest);

}  // namespace stoker
