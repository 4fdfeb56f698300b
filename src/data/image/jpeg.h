// One libjpeg decompressor, kept from picture to picture. Errors of libjpeg, and those
// of its warnings that mean missing or wrong pixels, arrive as ImageError.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "data/image/geometry.h"
#include "data/image/step.h"

namespace stoker::image {

class Buffer;

class JpegReader {
 public:
  JpegReader();
  ~JpegReader();

  // Huffman decoding: our own where it can, or libjpeg's always (to compare with).
  enum class Entropy { own, libjpeg };
  void set_entropy(Entropy entropy) { entropy_ = entropy; }
  // Whether the last picture was read with our own.
  bool used_own_entropy() const { return own_; }

  // Reads the header of `bytes`, which must stay until the pixels are read.
  // channels: 1, 3, or 0 for those of the file (then asked with channels()).
  void open(std::string_view bytes, int channels, int64_t max_pixels);
  int64_t height() const;
  int64_t width() const;
  int64_t channels() const;

  // The pixels of a box, of the picture at 1/shrink (1, 2, 4, 8) of its size, into `buffer`; once
  // after open.
  Pixels read(const Box& box, int shrink, Buffer& buffer);
  // All pixels into `out`, rows without gaps; once after open.
  void read_all(uint8_t* out);

 private:
  class Handle;

  bool converts() const;  // whether libjpeg's pixels are not yet those that are wanted
  void read_header();
  void start();
  Pixels read_box(const Box& box, int shrink, Buffer& buffer);
  void read_whole(uint8_t* out);
  void read_rows(uint8_t* out, int64_t stride, int64_t rows);
  template <class Read>
  auto with_fallback(Read&& read);

  std::unique_ptr<Handle> handle_;
  std::string_view bytes_;
  int channels_ = 0;
  Entropy entropy_ = Entropy::own;
  bool own_ = false;
};

}  // namespace stoker::image
