// The spec of elements that come from several datasets.
#pragma once

#include <string>
#include <vector>

#include "data/node.h"

namespace stoker::data {

// Same components, dtypes and ranks; extents that differ become unknown. ShapeError, opened by `op`.
ElementSpec common_spec(const std::string& op, const std::vector<NodeRef>& nodes);
ElementSpec common_spec(const std::string& op, const ElementSpec& a, const ElementSpec& b);

}  // namespace stoker::data
