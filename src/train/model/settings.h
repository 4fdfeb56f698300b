// The settings of a Context, looked at when they are put to use: by compile(), and by a function()
// when it is first traced.
#pragma once

#include <string>
#include <vector>

#include <stoker/context.h>

namespace stoker {

// ValueError for a device that does not exist or cannot be used, an unknown policy, a negative
// number of threads and a memory_fraction outside [0, 1].
void check_settings(const Context& context);

// One line to Context::out for every setting that the context's engine cannot follow: a mixed policy
// (the context's, or one of `layer_policies`) without 16-bit products, GPU settings on a CPU. Where
// "auto" leaves a GPU idle, one line says why and what to do, once per process.
void say_settings_without_effect(const Context& context,
                                 const std::vector<std::string>& layer_policies = {});

// One line with what the context's mixed policy computes in on its engine; empty for float32.
std::string precision_line(const Context& context);

// One line with the device's name and description, where it is not the CPU: the first of a fit.
std::string device_line(const Context& context);

}  // namespace stoker
