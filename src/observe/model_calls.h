// What this room does for the calls of a Model that it takes part in.
#pragma once

#include "train/fit/services.h"

namespace stoker {

// A fit that is observed. For callers that hand over more; Model::fit uses it as it is.
FitServices observed_fit();

}  // namespace stoker
