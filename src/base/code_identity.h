// Which build of a program or library a piece of code belongs to.
#pragma once

#include <string>

namespace stoker {

// Of the module (executable or shared library) that holds `address`: its build id, or, where the
// linker gave none, its file's size and time. The same in every run of one build, another once
// something was changed and built anew. Empty: it cannot be found.
std::string code_identity(const void* address);

}  // namespace stoker
