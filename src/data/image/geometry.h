// Crop, resize and flip, folded into one description of where the pixels of a result come from.
#pragma once

#include <cstdint>

#include <stoker/image.h>

namespace stoker::image {

struct Box {
  int64_t y = 0, x = 0, height = 0, width = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

class Geometry {
 public:
  Geometry() = default;
  Geometry(int64_t height, int64_t width)
      : source_{0, 0, height, width}, full_{0, 0, height, width} {}

  int64_t height() const { return resized_ ? window_.height : source_.height; }
  int64_t width() const { return resized_ ? window_.width : source_.width; }

  // `box` in pixels of the result so far, within it.
  void crop(Box box);
  // The same, where the box may reach beyond: zeros there. Only while can_pad().
  void crop_padded(const Box& box);
  bool can_pad() const { return !resized_; }
  // Only while can_resize(): a flip before a resize is not, bit for bit, a flip after it.
  void resize(int64_t height, int64_t width, const Resize& how);
  bool can_resize() const { return !resized_ && !padded_ && !flip_x_ && !flip_y_; }
  void flip_left_right() { flip_x_ = !flip_x_; }
  void flip_up_down() { flip_y_ = !flip_y_; }

  const Box& source() const { return source_; }  // what is kept of the source
  bool padded() const { return padded_; }
  bool resized() const { return resized_; }
  const Box& target() const { return target_; }  // the whole resized source box
  const Box& window() const { return window_; }  // what is kept of it
  const Resize& how() const { return how_; }
  bool flip_x() const { return flip_x_; }
  bool flip_y() const { return flip_y_; }
  // Nothing but the source as it is.
  bool identity() const { return !resized_ && !flip_x_ && !flip_y_ && source_ == full_; }

 private:
  Box mirrored(Box box) const;

  Box source_, full_, target_, window_;
  Resize how_;
  bool padded_ = false, resized_ = false, flip_x_ = false, flip_y_ = false;
};

}  // namespace stoker::image
