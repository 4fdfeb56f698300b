// Data sets of a few pictures in a temporary folder: class k is a bright bar in row or column k.
#pragma once

#include <string>

#include "support/temp_dir.h"

namespace stoker::test {

struct TinyPictures {
  int64_t count = 40, side = 12, classes = 4;
};

// MNIST's four files, plain; a quarter as many to test with.
void write_idx_folder(const TempDir& folder, const std::string& name,
                      const TinyPictures& pictures = {});
// NAME/class_0/00.jpg …, colour.
void write_image_folder(const TempDir& folder, const std::string& name,
                        const TinyPictures& pictures = {});

}  // namespace stoker::test
