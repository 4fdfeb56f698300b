// Writing PNG with libpng.
#pragma once

#include <string>

#include <stoker/image.h>

namespace stoker::image {

// 8 bits per channel; 1 channel: grey, 3: RGB, 4: RGBA. ImageError for what PNG cannot hold.
void write_png(const Image& picture, std::string& out);

}  // namespace stoker::image
