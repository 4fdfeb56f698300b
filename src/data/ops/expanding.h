// A dataset for every element of another: what flat_map, interleave and group_by_window share.
#pragma once

#include <functional>

#include "data/runtime/planning.h"

namespace stoker::data {

struct Turns {
  int64_t cycle = 1, block = 1;
  bool ahead = false;  // the open datasets are read at the same time
};

// From a ticket that holds something to the dataset that it becomes.
using ExpandTicket = std::function<Dataset(const Ticket& ticket)>;

// `planned`: a stream of such tickets, with the reason for replaying it. The elements of the datasets
// follow each other, or take turns, and are numbered through.
Planned expanded(Planned planned, const Node& node, ExpandTicket function, Turns turns,
                 PlanContext& context);

}  // namespace stoker::data
