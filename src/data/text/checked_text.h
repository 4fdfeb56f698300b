// What text sources do with bytes that are not UTF-8.
#pragma once

#include <string>
#include <string_view>

#include <stoker/text.h>

namespace stoker::data {

std::string_view name_of(InvalidUtf8 policy);

// Applies the policy. ValueError: which byte, where, and what to do.
void check_text(std::string& text, InvalidUtf8 policy);

}  // namespace stoker::data
