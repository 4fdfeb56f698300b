#include "data/image/geometry.h"

namespace stoker::image {
namespace {

Box within(const Box& outer, const Box& inner) {
  return {outer.y + inner.y, outer.x + inner.x, inner.height, inner.width};
}

}  // namespace

Box Geometry::mirrored(Box box) const {
  if (flip_x_) box.x = width() - box.x - box.width;
  if (flip_y_) box.y = height() - box.y - box.height;
  return box;
}

void Geometry::crop(Box box) {
  box = mirrored(box);
  if (resized_)
    window_ = within(window_, box);
  else
    source_ = within(source_, box);
}

void Geometry::crop_padded(const Box& box) {
  source_ = within(source_, mirrored(box));
  padded_ = source_.y < full_.y || source_.x < full_.x ||
            source_.y + source_.height > full_.y + full_.height ||
            source_.x + source_.width > full_.x + full_.width;
}

void Geometry::resize(int64_t height, int64_t width, const Resize& how) {
  target_ = window_ = {0, 0, height, width};
  how_ = how;
  resized_ = true;
}

}  // namespace stoker::image
