// Compressed bytes for tests of what reads them.
#pragma once

#include <string>

namespace stoker::test {

std::string gzip(const std::string& content);
std::string zlib(const std::string& content);

}  // namespace stoker::test
