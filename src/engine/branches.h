// Which work must have ended before other work begins, from the memory it reads and writes. With
// that, a captured step need not be one long line: where kernels are too small to fill a GPU, what
// does not depend on each other runs side by side. Pure; knows nothing of CUDA.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stoker {

struct Access {
  const void* begin = nullptr;
  size_t bytes = 0;
  bool writes = false;
};
using Accesses = std::vector<Access>;

// By item: the earlier items it must wait for, in order; those that another of them waits for
// anyway are left out.
std::vector<std::vector<int>> find_dependencies(std::span<const Accesses> items);

// The items in an order in which each comes after what it waits for: of those that could be next,
// the one with most work behind it. `work` is by item.
std::vector<int> order_by_urgency(std::span<const std::vector<int>> dependencies,
                                  std::span<const double> work);

// By item: one of `lanes`, so that as few waits as possible are wrong: a lane goes on with an item
// that waits for its last one, of several the one that ends last. What waits for nothing and is not
// among the first goes behind what ends first: it is in no hurry, and every lane that is open from
// the start costs.
std::vector<int> assign_lanes(std::span<const std::vector<int>> dependencies,
                              std::span<const double> work, int lanes);

}  // namespace stoker
