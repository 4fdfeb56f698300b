#include <stoker/idx.h>

#include "formats/idx.h"

namespace stoker {

Tensor load_idx(const std::string& path) { return read_idx(path); }

}  // namespace stoker
