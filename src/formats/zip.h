// Zip archives, as .npz files are: entries stored or deflated, of any size (zip64).
//
// Files are not trusted: sizes and places are checked against the file, checksums against the bytes;
// an entry that is encrypted or compressed otherwise is a FileError.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"

namespace stoker {

struct ZipEntry {
  std::string name;
  uint64_t header = 0;  // the place of its local header
  uint64_t packed_bytes = 0, bytes = 0;
  uint32_t crc32 = 0;
  uint16_t method = 0;  // 0: stored, 8: deflated
};

// What the directory at the end of the file lists.
std::vector<ZipEntry> list_zip(FileReader& file);

// The bytes of an entry in order.
class ZipEntryReader {
 public:
  // The file must outlive it.
  ZipEntryReader(FileReader& file, ZipEntry entry);
  ~ZipEntryReader();
  // Fewer than out.size() only at the end, where the checksum is compared.
  size_t read(std::span<std::byte> out);

 private:
  struct Inflating;
  size_t read_stored(std::span<std::byte> out);
  size_t read_deflated(std::span<std::byte> out);

  FileReader& file_;
  ZipEntry entry_;
  uint64_t at_ = 0, end_ = 0;  // of the packed bytes in the file
  uint64_t done_ = 0;
  uint32_t crc_ = 0;
  std::unique_ptr<Inflating> inflating_;
};

// An archive in pieces, to be written one after the other.
class ZipWriter {
 public:
  // The pieces are the entry's bytes, together.
  void add(const std::string& name, const std::vector<std::span<const std::byte>>& pieces,
           bool deflate);
  // Until the pieces of add() are gone.
  std::vector<std::span<const std::byte>> finish();

 private:
  struct Part;
  std::vector<std::shared_ptr<Part>> parts_;
  std::string directory_;
};

}  // namespace stoker
