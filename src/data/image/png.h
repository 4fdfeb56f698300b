// Decoding PNG with libpng. Errors arrive as ImageError.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "data/image/geometry.h"
#include "data/image/step.h"

namespace stoker::image {

class Buffer;

// Reads one picture after the other.
class PngReader {
 public:
  PngReader();
  ~PngReader();

  // Reads the header of `bytes`, which must stay until the pixels are read.
  // channels: 1, 3, 4, or 0 for those of the file.
  void open(std::string_view bytes, int channels, int64_t max_pixels);
  int64_t height() const;
  int64_t width() const;
  int64_t channels() const;

  // The pixels of a box into `buffer`: once after open. Rows below it are not looked at.
  Pixels read(const Box& box, Buffer& buffer);
  // All pixels into `out`, rows without gaps; once after open.
  void read_all(uint8_t* out);

 private:
  class Handle;
  void read_rows(int64_t begin, int64_t end, uint8_t* out, uint8_t* unused);

  std::unique_ptr<Handle> handle_;
};

}  // namespace stoker::image
