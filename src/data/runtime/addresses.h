// Errors have an address: what goes wrong while an element is made arrives as an ElementError that
// names the stage, the element and, where it is known, the file.
#pragma once

#include "data/runtime/making.h"

namespace stoker::data {

// Inside a catch block: throws the exception in flight again with its address. One that has an
// address already keeps it.
[[noreturn]] void rethrow_addressed(const std::string& stage, int64_t epoch, int64_t index,
                                    const std::string& origin);

// The same, not thrown.
std::exception_ptr addressed_error(const std::string& stage, int64_t epoch, int64_t index,
                                   const std::string& origin);

// What the exception in flight says.
std::string current_message();

}  // namespace stoker::data
