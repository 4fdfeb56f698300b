// A folder of real JPEG files to try things with: ten kinds of shapes, each with its own place,
// size, turn and light on a cloudy background. Picture i of a seed is always the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <stoker/random.h>
#include <stoker/tensor.h>

namespace stoker::jobs {

const std::vector<std::string>& demo_classes();

struct DemoPictures {
  int64_t train = 480, val = 120;  // ten classes, as many of each
  int64_t height = 480, width = 640;
};

// uint8 [height, width, 3].
Tensor draw_demo_picture(int64_t label, int64_t height, int64_t width, Rng& rng);

// FOLDER/train/CLASS/0000.jpg … and FOLDER/val/…, on all cores; a folder that holds exactly these
// is left as it is. Returns the bytes of the files.
int64_t write_demo_pictures(const std::string& folder, const DemoPictures& pictures);

}  // namespace stoker::jobs
