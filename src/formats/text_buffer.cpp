#include "formats/text_buffer.h"

#include <algorithm>
#include <cstring>

namespace stoker {

TextBuffer::TextBuffer(FileReader& file, size_t buffer_bytes, uint64_t offset)
    : base_(offset), source_(file, offset), buffer_bytes_(std::max<size_t>(buffer_bytes, 1)) {
  if (offset > 0) return;
  while (end_ < kByteOrderMark.size() && fill()) {
  }
  if (std::string_view(buffer_).substr(0, end_).starts_with(kByteOrderMark))
    begin_ = kByteOrderMark.size();
}

bool TextBuffer::fill() {
  if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  base_ += begin_;
  end_ -= begin_, begin_ = 0;
  if (buffer_.size() - end_ < buffer_bytes_)
    buffer_.resize(std::max(end_ + buffer_bytes_, 2 * end_));
  size_t got = source_.read(std::as_writable_bytes(std::span(buffer_).subspan(end_)));
  end_ += got;
  return got > 0;
}

}  // namespace stoker
