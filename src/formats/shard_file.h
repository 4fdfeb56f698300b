// One shard file while it is being written: takes records, keeps their index, and ends with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/tensor_view.h>

#include "base/file.h"
#include "formats/shard_layout.h"
#include "formats/shard_manifest.h"

namespace stoker {

class ShardFile {
 public:
  ShardFile(const std::string& directory, ShardName name, FileSystem& files);

  // The views fit the spec.
  void write(uint64_t element, std::span<const ConstTensorView> views,
             std::span<const TensorSpec> spec);
  uint64_t bytes() const { return bytes_; }

  // Writes index and footer and syncs. Nothing may be written after it.
  ShardManifest::Shard finish();

 private:
  void append(std::span<const std::byte> bytes);  // also to the checksum of the record
  void append_zeros_to(uint64_t offset);
  void flush();

  std::string name_;
  std::unique_ptr<FileWriter> file_;
  ShardHeader header_;
  std::vector<ShardIndexEntry> index_;
  std::vector<std::byte> buffer_;
  std::vector<uint64_t> words_;
  uint64_t bytes_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace stoker
