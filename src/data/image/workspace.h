// What a thread keeps from element to element, so that nothing is allocated in the steady state.
#pragma once

#include <string>
#include <vector>

#include "data/image/passes.h"
#include "data/image/scratch.h"
#include "data/image/taps.h"

namespace stoker::image {

struct Workspace {
  Plan plan;
  Buffer pixels;         // decoded
  Buffer between[2];     // results of passes that are not the last, in turn
  std::string bytes[2];  // the same, where they are encoded pictures
  Buffer line;           // of the source's width: rows mixed, columns not yet
  Buffer row, floats;    // of the result's width: before and during pointwise changes
  Buffer coefficients;
  std::vector<double> sums, means;  // of channels, for contrast
  std::vector<uint32_t> counts;
  Taps rows, columns;

  static Workspace& of_thread();
  void trim();
};

}  // namespace stoker::image
