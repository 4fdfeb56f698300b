// The oracle of every test: every op, computed plainly, one node after another. Slow; one thread.
#pragma once

#include "engine/registry.h"

namespace stoker {

struct ReferenceOptions {
  // Floats keep all their bits between ops instead of those of their dtype, and Program::scalar()
  // gives them as double: precise enough for finite differences. Tensors that leave a program are
  // rounded either way.
  bool exact = false;
};

std::unique_ptr<Backend> make_reference_backend(const ReferenceOptions& options);

// The one that `backend("reference")` finds; it rounds every result to its dtype.
Backend& reference_backend();
DeviceFamily& reference_family();

}  // namespace stoker
