// The settings of a Context, looked at when they are put to use: by compile(), and by a function()
// when it is first traced.
#pragma once

#include <string>
#include <vector>

#include <stoker/context.h>

namespace stoker {

// ValueError for a device that does not exist, an unknown policy, a negative number of threads and
// a memory_fraction outside [0, 1].
void check_settings(const Context& context);

// One line to Context::out for every setting that the context's engine cannot follow: a GPU that is
// not there, a mixed policy (the context's, or one of `layer_policies`) without sixteen-bit
// products, GPU settings on a CPU.
void say_settings_without_effect(const Context& context,
                                 const std::vector<std::string>& layer_policies = {});

}  // namespace stoker
