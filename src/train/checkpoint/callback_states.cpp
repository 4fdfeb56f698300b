#include "train/checkpoint/callback_states.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <typeinfo>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

std::string kind_of(const Callback& callback) {
  const char* mangled = typeid(callback).name();
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
  std::string kind = status == 0 ? name.get() : mangled;
  constexpr std::string_view kOwn = "stoker::";
  return kind.starts_with(kOwn) ? kind.substr(kOwn.size()) : kind;
}

bool is_empty(const CallbackState& state) {
  return state.values.entries().empty() && state.tensors.empty();
}

// For every callback the state of its kind and place, or null.
std::vector<const CallbackState*> matched(const std::vector<CallbackRef>& callbacks,
                                          const CallbackStates& states) {
  std::vector<const CallbackState*> found(callbacks.size());
  std::vector<bool> taken(states.size());
  for (size_t i = 0; i < callbacks.size(); ++i)
    for (size_t at = 0; at < states.size() && found[i] == nullptr; ++at)
      if (!taken[at] && states[at].first == kind_of(*callbacks[i])) {
        taken[at] = true;
        found[i] = &states[at].second;
      }
  return found;
}

}  // namespace

CallbackStates states_of(const std::vector<CallbackRef>& callbacks) {
  CallbackStates states;
  states.reserve(callbacks.size());
  for (const CallbackRef& callback : callbacks)
    states.emplace_back(kind_of(*callback), callback->state());
  return states;
}

std::vector<std::string> differences(const std::vector<CallbackRef>& callbacks,
                                     const CallbackStates& states) {
  std::vector<const CallbackState*> found = matched(callbacks, states);
  std::vector<std::string> lines;
  for (size_t i = 0; i < callbacks.size(); ++i)
    if (found[i] == nullptr && !is_empty(callbacks[i]->state()))
      lines.push_back(fmt::format("callback {}: here, not there", kind_of(*callbacks[i])));
  for (const auto& [kind, state] : states)
    if (!is_empty(state) && std::ranges::find(found, &state) == found.end())
      lines.push_back(fmt::format("callback {}: there, not here", kind));
  return lines;
}

void restore_callbacks(const std::vector<CallbackRef>& callbacks, const CallbackStates& states) {
  std::vector<const CallbackState*> found = matched(callbacks, states);
  for (size_t i = 0; i < callbacks.size(); ++i) {
    if (found[i] == nullptr || is_empty(*found[i])) continue;
    try {
      callbacks[i]->restore(*found[i]);
    } catch (const Error& error) {
      throw ValueError(fmt::format("callback {}: {}", kind_of(*callbacks[i]), error.what()));
    }
  }
}

}  // namespace stoker
