// The bytes of a file in order, out of gzip where its first bytes say so. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "formats/gzip.h"

namespace stoker {

class ByteSource {
 public:
  // The file must outlive it. `offset`: where to begin, in a plain file.
  explicit ByteSource(FileReader& file, uint64_t offset = 0) : file_(file), offset_(offset) {
    if (offset == 0 && is_gzip(file)) gzip_.emplace(file);
  }
  // The next bytes, 0 at the end. FileError as GzipReader and FileReader throw it.
  size_t read(std::span<std::byte> out) {
    size_t got = gzip_ ? gzip_->read(out) : file_.read_at(offset_, out);
    offset_ += got;
    return got;
  }

 private:
  FileReader& file_;
  std::optional<GzipReader> gzip_;
  uint64_t offset_;
};

}  // namespace stoker
