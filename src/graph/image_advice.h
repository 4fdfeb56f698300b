// What to put before an op or layer that expects images and got something else.
#pragma once

#include <string>

#include <stoker/shape.h>

namespace stoker {

// A flat or single-channel image is the usual mistake: says which Reshape repairs it, or "". `channels`
// is 0 where it is unknown.
std::string image_advice(const Shape& input, int64_t channels = 0);

}  // namespace stoker
