// Attributes and configurations as JSON text, and back. A number with a fraction or exponent is a
// double, one without is an integer; numbers that JSON does not have are {"double": "inf"}, "-inf"
// or "nan". An empty list of doubles is {"doubles": []}.
#pragma once

#include <string>
#include <string_view>

#include <stoker/attrs.h>

namespace stoker {

// ValueError for a host function: code is never written.
std::string attrs_to_json(const Attrs& attrs);
// ValueError says which entry is of no kind that an attribute can have.
Attrs attrs_from_json(std::string_view text);

}  // namespace stoker
