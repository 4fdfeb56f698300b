// The seam of per-element functions lives in the public header; this is its name inside the room.
#pragma once

#include <stoker/element.h>
