// Where a cache would pay, and where one changes nothing but time.
#pragma once

#include "data/runtime/run.h"

namespace stoker::data {

// What was measured at a node; null: nothing.
const StageStats* stats_of(const Run& run, const Node* node);
bool was_measured(const StageStats* stage);

// Behind the last measured function whose elements are the same in every epoch.
CacheAdvice cache_advice(const Run& run);

// Whether this node, or one before it in any branch, draws what is in its elements. Drawing their
// order alone does not count.
bool draws_elements(const Node& node);

// The last function of a chain whose elements are the same in every epoch; null: there is none.
const Node* place_for_cache(const Node* root);

}  // namespace stoker::data
