#include <stoker/devices.h>

#include <algorithm>

#include <fmt/format.h>
#include <stoker/context.h>
#include <stoker/error.h>

#include "engine/registry.h"

namespace stoker {

namespace {

void check_not_in_use(const char* action) {
  for (const DeviceFamily* family : device_families())
    if (family->in_use())
      throw Error(
          fmt::format("{}: a {} is in use already; call it before the first model is trained there",
                      action, family->traits().title));
}

// Whether `name` is a device of this kind, as "cuda:1"; its number goes to `chosen`.
bool takes(const DeviceFamily& family, const std::string& name, std::vector<int>& chosen) {
  auto count = int(family.devices(Visible::all).size());
  for (int index = 0; index < count; ++index)
    if (name == fmt::format("{}:{}", family.traits().name, index)) {
      chosen.push_back(index);
      return true;
    }
  return false;
}

[[noreturn]] void fail_absent(const std::string& name, const std::vector<DeviceFamily*>& kinds) {
  std::string counts;
  for (const DeviceFamily* family : kinds) {
    size_t count = family->devices(Visible::all).size();
    counts += fmt::format("{}{} {}{}", counts.empty() ? "" : ", ", count, family->traits().title,
                          count == 1 ? "" : "s");
  }
  throw ValueError(
      fmt::format("set_visible_devices: there is no \"{}\"; the machine has {}", name, counts));
}

}  // namespace

std::vector<DeviceDescription> list_devices() {
  std::vector<DeviceDescription> all;
  for (DeviceFamily* family : device_families()) {
    if (family->traits().oracle) continue;
    std::vector<DeviceDescription> found = family->devices(Visible::chosen);
    for (size_t i = 0; i < found.size(); ++i) {
      found[i].name = FoundDevice{family, int(i)}.name();
      all.push_back(std::move(found[i]));
    }
  }
  return all;
}

void set_visible_devices(const std::vector<std::string>& names) {
  check_not_in_use("set_visible_devices");
  std::vector<DeviceFamily*> kinds = device_families();
  const std::string_view always = kinds.front()->traits().name;
  std::erase_if(kinds, [](const DeviceFamily* family) { return !family->traits().numbered; });
  std::vector<std::vector<int>> chosen(kinds.size());
  for (const std::string& name : names) {
    bool found = name == always;
    for (size_t i = 0; i < kinds.size() && !found; ++i) found = takes(*kinds[i], name, chosen[i]);
    if (!found) fail_absent(name, kinds);
  }
  for (size_t i = 0; i < kinds.size(); ++i) kinds[i]->choose(chosen[i]);
}

void set_memory_growth(bool growth) {
  check_not_in_use("set_memory_growth");
  default_context().memory_growth = growth;
}

void set_memory_limit(size_t bytes) {
  check_not_in_use("set_memory_limit");
  default_context().memory_limit = bytes;
}

}  // namespace stoker
