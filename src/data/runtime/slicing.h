// The part of a plan that one of several ranks runs: the rows of its slice of every batch. Makers that
// can make rows on their own make only those (Maker::sliced); of all others the whole batch is made and
// its rows are kept. Tickets are the same on all ranks, so positions and states are those of whole
// batches, and whole batches do not depend on the number of ranks.
#pragma once

#include "data/runtime/planning.h"

namespace stoker::data {

// A maker of the rows of `slice`; notes in the plan where other rows are made for it.
MakerRef slice_of(const MakerRef& maker, const BatchSlice& slice, PlanContext& context);

// The plan of `node` as context.slice has it. ShapeError where elements have no rows.
Planned sliced(Planned planned, const Node& node, PlanContext& context);

// Batches of any number of rows.
ElementSpec sliced_spec(const ElementSpec& spec);

// A batch of no rows; unknown extents are 0.
Batch empty_batch(const ElementSpec& spec);

}  // namespace stoker::data
