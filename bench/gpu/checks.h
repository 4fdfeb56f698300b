// Every op of the registry on the GPU against the reference, on fresh random numbers.
#pragma once

#include <iosfwd>
#include <string>

namespace stoker::bench {

// Prints what fails. Returns how many of the cases did. `only`: ops whose name contains it.
int check_ops(std::ostream& out, const std::string& only);

}  // namespace stoker::bench
