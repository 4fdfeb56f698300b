// Pictures for benchmarks that were given none: smooth shapes and noise, as hard to decode as
// photographs of the same size.
#pragma once

#include <string>
#include <vector>

namespace stoker::bench {

// A JPEG of quality 90 with halved colour resolution.
std::string encoded_picture(int64_t height, int64_t width, uint64_t seed);
// The JPEG files of a folder; without a folder, generated ones.
std::vector<std::string> pictures(const std::string& folder, size_t least);

}  // namespace stoker::bench
