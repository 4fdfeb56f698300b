// The files that generated kernels include, as the library carries them.
#pragma once

#include <string_view>

namespace stoker::fuser {

// The text of "prelude.cuh", "unary_math.cuh" or "unary_fn.h".
std::string_view prelude_file(std::string_view name);

}  // namespace stoker::fuser
