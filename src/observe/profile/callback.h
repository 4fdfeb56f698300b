// The Profiler callback of other callbacks.
#pragma once

#include <memory>
#include <string>

#include <stoker/callbacks.h>

namespace stoker {

// `who` begins its errors.
std::unique_ptr<Callback> make_profiler(const std::string& log_dir, StepRange steps,
                                        const char* who);

}  // namespace stoker
