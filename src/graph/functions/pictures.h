// What functions of images share: pictures with and without a batch, and of whole numbers.
#pragma once

#include <functional>

#include <stoker/value.h>

namespace stoker::ops::image {

using OfPictures = std::function<Value(const Value& pictures)>;

// f of [B, H, W, C]; [H, W, C] is a batch of one.
Value on_pictures(const char* what, const Value& images, const OfPictures& f);
// f of float32; what was of whole numbers is rounded and cut back to its dtype.
Value in_floats(const Value& x, const OfPictures& f);

}  // namespace stoker::ops::image
