// Whether a file could be written, looked at before the work whose result it is to hold. Nothing is
// created. What is found may change before the file is written: errors then are as they always are.
#pragma once

#include <string>

namespace stoker {

// FileError when a directory stands at `path`, or when its folder fails as below.
void check_can_write_file(const std::string& path);
// FileError when the folder, or the nearest one above it that exists, is not a directory or may not
// be written to.
void check_can_write_folder(const std::string& directory);

}  // namespace stoker
