// Where own code is looked for when files are read: stoker/custom_objects.h.
#pragma once

#include <stoker/model.h>

namespace stoker {

// `given`, and behind it what the thread's scope and the program have registered.
CustomObjects with_registered(CustomObjects given);

}  // namespace stoker
