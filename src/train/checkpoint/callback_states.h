// The callbacks' part of a checkpoint. A callback is known by its C++ type and, among equal ones,
// by its place in the list.
#pragma once

#include <string>
#include <vector>

#include "train/checkpoint/checkpoint.h"

namespace stoker {

using CallbackStates = std::vector<std::pair<std::string, CallbackState>>;

CallbackStates states_of(const std::vector<CallbackRef>& callbacks);

// One line for every state that has no callback here, and for every callback that remembers
// something and has no state.
std::vector<std::string> differences(const std::vector<CallbackRef>& callbacks,
                                     const CallbackStates& states);
// ValueError, naming the callback, for a state that it does not take.
void restore_callbacks(const std::vector<CallbackRef>& callbacks, const CallbackStates& states);

}  // namespace stoker
