// The GPU engine behind engine/backend.h. Where it is not built, engine/stub_cuda has the same two
// functions, so that no caller asks the preprocessor.
#pragma once

#include <string>

#include "engine/backend.h"

namespace stoker {

// The engine of the visible GPU `index`, made at the first call. ValueError when there is none.
Backend& cuda_backend(int index);

bool cuda_is_usable(std::string* why);

}  // namespace stoker
