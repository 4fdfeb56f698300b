// Image operations as functions of a dataset's elements.
#pragma once

#include <stoker/element.h>
#include <stoker/image.h>

namespace stoker::data {

// Applies `op` to one component and passes the others on. The result is written straight into the
// memory that the writer gives; once a thread has seen its largest picture, nothing is allocated.
FunctionRef as_function(const image::Op& op, size_t component);

// What all threads together hold for decoding and between passes.
size_t image_scratch_bytes();

}  // namespace stoker::data
