// A timeline as the files that others open.
#pragma once

#include <string>

#include "observe/profile/timeline.h"

namespace stoker {

// For ui.perfetto.dev and chrome://tracing: the JSON of the Trace Event Format, about 150 bytes an
// event.
std::string chrome_trace(const Timeline& timeline, const Recorded& recorded);

// For TensorBoard's Profile page: an XSpace. Its pages know TensorFlow's names only, so that a step
// is "train", a wait "IteratorGetNext …", and an op "layer/op:op".
std::string xspace(const Timeline& timeline, const Recorded& recorded, std::string_view host);

}  // namespace stoker
