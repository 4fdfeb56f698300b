// CUDA C++ for a region. The text depends on the region and the number of multiprocessors alone, so
// that equal regions share one compiled kernel, and code kept on disk is found again.
#pragma once

#include <string>
#include <vector>

#include "engine/cuda/fuser/region.h"

namespace stoker::fuser {

struct GeneratedKernel {
  std::string name;    // of the function in `source`, which has it from its contents
  std::string source;  // without the prelude
  unsigned grid_x = 1, grid_y = 1;
  static constexpr unsigned kThreads = 256;
  // Memory that it takes behind operands and result: partial results, and counters that are zero
  // before and after every launch.
  size_t partial_bytes = 0, counter_bytes = 0;
};

GeneratedKernel generate(const Region& region, int multiprocessors = 132);

// The headers that `prelude` includes, and the prelude itself: name and text.
struct SourceFile {
  std::string name, text;
};
const std::vector<SourceFile>& prelude_files();
inline constexpr const char* kPrelude = "engine/cuda/fuser/prelude.cuh";

}  // namespace stoker::fuser
