// Reads a gzip or zlib file as a stream of the bytes it holds. Memory: one buffer of 64 KiB,
// whatever the file says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/file.h"

namespace stoker {

// Deflate makes at most 1032 bytes of one: anything said to be larger than this many times the file
// is not in it.
inline constexpr uint64_t kLargestDeflateRatio = 1032;

bool is_gzip(FileReader& file);  // by its first two bytes

// What stands around the deflated bytes.
enum class DeflateWrapper { gzip, zlib };

class GzipReader {
 public:
  // The file must outlive it.
  explicit GzipReader(FileReader& file, DeflateWrapper wrapper = DeflateWrapper::gzip);
  ~GzipReader();

  // The next bytes: out.size() of them unless the stream ends before, with its checksum verified.
  // FileError when it is damaged or cut off. Members that follow each other in the file are one
  // stream, as in gzip.
  size_t read(std::span<std::byte> out);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace stoker
