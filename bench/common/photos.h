// JPEG files to measure with.
#pragma once

#include <string>
#include <vector>

#include <stoker/tensor.h>

namespace stoker::bench {

// All .jpg and .jpeg files of a folder, as bytes[], in the order of their names.
std::vector<Tensor> read_photos(const std::string& folder);
// Made-up pictures of 500×375 pixels at about 100 kB: noise of many scales, as photographs have.
std::vector<Tensor> generate_photos(int count);
// photo_000.jpg … in a folder.
void write_photos(const std::vector<Tensor>& photos, const std::string& folder);

}  // namespace stoker::bench
