// The files of this folder, which the build embeds into the library (cmake/StokerEmbed.cmake).
#pragma once

#include <string_view>

namespace stoker::doctor {

std::string_view page_file(std::string_view name);  // empty: there is none of this name

}  // namespace stoker::doctor
