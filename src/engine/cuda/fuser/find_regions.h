// Which nodes of a graph become regions: every producer joins the regions that read it, unless that
// would move more bytes than writing its result and reading it again, or compute too much twice.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/cuda/fuser/region.h"
#include "engine/readers.h"

namespace stoker::fuser {

struct FoundRegion {
  int root = -1;           // node: its result is what the region makes
  std::vector<int> nodes;  // inside, the root included
  std::shared_ptr<const Region> region;
};

struct RegionOptions {
  // Nodes that something else runs.
  std::function<bool(int node)> is_taken = [](int) { return false; };
  // Nodes that touch less are left alone: launching them takes longer than their bytes do.
  double least_bytes = default_least_bytes();

  static double default_least_bytes();  // a mebibyte, or STOKER_FUSE_FROM
};

// In the order of their roots. A node may be in several.
std::vector<FoundRegion> find_regions(const Readers& readers, const RegionOptions& options = {});

}  // namespace stoker::fuser
