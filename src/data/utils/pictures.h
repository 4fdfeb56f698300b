// Words for options of pictures.
#pragma once

#include <string>

#include <stoker/image.h>

namespace stoker::utils {

// ValueError, which begins with `who`, for a word that is none.
image::ResizeMethod resize_method(const char* who, const std::string& interpolation);

}  // namespace stoker::utils
