#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <typeinfo>

#include "train/fit/loops.h"

namespace stoker {

std::string class_name(const Callback& callback) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(typeid(callback).name(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? text.get() : typeid(callback).name();
  if (size_t at = name.rfind("::"); at != std::string::npos) name.erase(0, at + 2);
  return name;
}

std::vector<CallbackRef> with_progress(const std::vector<CallbackRef>& list, int verbose,
                                       const Context& context) {
  auto shows = [](const CallbackRef& callback) {
    return dynamic_cast<const ProgbarLogger*>(&*callback) != nullptr;
  };
  if (verbose <= 0 || context.out == nullptr || std::ranges::any_of(list, shows)) return list;
  // Before the others: what they say about an epoch stands below its line.
  std::vector<CallbackRef> all;
  all.emplace_back(std::make_shared<ProgbarLogger>());
  all.insert(all.end(), list.begin(), list.end());
  return all;
}

Logs CallbackCalls::extended(const Logs& logs) const {
  std::vector<std::pair<std::string, double>> added;
  for (const CallbackRef& callback : list_)
    for (auto& entry : callback->epoch_logs())
      if (!logs.has(entry.first) &&
          std::ranges::find(added, entry.first, &std::pair<std::string, double>::first) ==
              added.end())
        added.push_back(std::move(entry));
  if (added.empty()) return logs;
  std::vector<std::pair<std::string, double>> all;
  all.reserve(logs.size() + added.size());
  for (size_t i = 0; i < logs.size(); ++i) all.emplace_back(logs.names()[i], logs.value(i));
  all.insert(all.end(), added.begin(), added.end());
  return Logs(std::move(all));
}

bool CallbackCalls::accept(const NonFiniteError& error) const {
  bool accepted = false;
  for (const CallbackRef& callback : list_) accepted = callback->on_non_finite(error) || accepted;
  return accepted;
}

}  // namespace stoker
