// classes.json: the names of classes, in the order of their labels, beside what was made of them.
#pragma once

#include <string>
#include <vector>

namespace stoker::jobs {

void write_classes(const std::string& folder, const std::vector<std::string>& names);
// Empty where there is no such file; FileError for one that is not a list of names.
std::vector<std::string> read_classes(const std::string& folder);

}  // namespace stoker::jobs
