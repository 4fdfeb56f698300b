// Elements in memory that may differ in shape.
#pragma once

#include <stoker/dataset.h>

namespace stoker::data {

// Random access. Every element is of `spec`.
Dataset from_list(ElementSpec spec, std::vector<Batch> elements);

}  // namespace stoker::data
