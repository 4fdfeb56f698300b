// What `make demo` shows: a small CNN learns from a folder of JPEG files, twice. First the input
// pipeline runs as most people write it, then as Stoker runs it: the same lines, the same weights
// at the end, and a table of what the difference is.
#pragma once

#include <iosfwd>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "jobs/demo_pictures.h"

namespace stoker::jobs {

struct DemoOptions {
  std::string folder = "stoker-demo";  // pictures go to FOLDER/pictures, and stay there
  DemoPictures pictures = {};
  int64_t epochs = 3;
  int64_t batch = 16;
  bool explain = false;  // also print explain() of both runs
};

// Tells the story on `out`, and writes the doctor's report of the slow form to the folder. Returns
// {"before": {...}, "after": {...}, "speedup", "same_weights", "seconds", "diagnosis", …}.
nlohmann::json run_demo(const DemoOptions& options, std::ostream& out);

}  // namespace stoker::jobs
