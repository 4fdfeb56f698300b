#include "engine/registry.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/cpu/cpu_backend.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/reference/reference_backend.h"

namespace stoker {

namespace {

// One line per kind of device.
std::vector<DeviceFamily*> built_in() {
  return {
      &cpu_family(),
      &cuda_family(),
      &reference_family(),
  };
}

struct Registry {
  std::mutex mutex;
  std::vector<DeviceFamily*> families = built_in();
};

Registry& registry() {
  static Registry all;
  return all;
}

// The number in "cuda:N", 0 in "cuda"; nothing for names of other kinds.
std::optional<int> number_in(std::string_view device, const BackendTraits& kind) {
  constexpr int kMost = 1024;
  if (device == kind.name) return 0;
  std::string prefix = fmt::format("{}:", kind.name);
  if (!kind.numbered || !device.starts_with(prefix)) return std::nullopt;
  std::string_view digits = device.substr(prefix.size());
  int number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool good = error == std::errc() && number >= 0 && number < kMost &&
              device == fmt::format("{}{}", prefix, number);
  return good ? std::optional(number) : std::nullopt;
}

[[noreturn]] void fail_unknown(std::string_view device) {
  std::vector<std::string> names = {std::string(kAutomatic)};
  for (DeviceFamily* family : device_families()) {
    const BackendTraits& traits = family->traits();
    names.emplace_back(traits.name);
    if (traits.numbered) names.push_back(fmt::format("{}:N", traits.name));
  }
  throw ValueError(fmt::format("unknown device \"{}\"; there are {}; {}", device,
                               fmt::join(names, ", "),
                               device.find(',') != std::string_view::npos
                                   ? "a model trains on one device, so name one of them"
                                   : "list_devices() names those of this machine"));
}

[[noreturn]] void fail_unusable(std::string_view device, const DeviceFamily& family) {
  if (int count = family.count(); count > 0)
    throw ValueError(fmt::format("there is no device \"{}\": the last {} is {}:{}", device,
                                 family.traits().title, family.traits().name, count - 1));
  Absence absence = family.absence();
  throw ValueError(fmt::format(
      "device \"{}\" cannot be used: {}{}{}; device \"{}\" falls back to the CPU", device,
      absence.why, absence.advice.empty() ? "" : "; ", absence.advice, kAutomatic));
}

FoundDevice automatic() {
  for (DeviceFamily* family : preferred_families())
    if (family->count() > 0) return {family, 0};
  return {device_families().front(), 0};
}

}  // namespace

std::vector<DeviceFamily*> device_families() {
  std::lock_guard lock(registry().mutex);
  return registry().families;
}

RegisteredFamily::RegisteredFamily(DeviceFamily& family) : family_(family) {
  std::lock_guard lock(registry().mutex);
  registry().families.push_back(&family);
}

RegisteredFamily::~RegisteredFamily() {
  std::lock_guard lock(registry().mutex);
  std::erase(registry().families, &family_);
}

std::string FoundDevice::name() const {
  return traits().numbered ? fmt::format("{}:{}", traits().name, index)
                           : std::string(traits().name);
}

std::string FoundDevice::described() const {
  DeviceDescription device = family->devices(Visible::chosen).at(size_t(index));
  return fmt::format("{}: {}, {:.1f} GiB", name(), device.description,
                     double(device.memory) / double(size_t(1) << 30));
}

FoundDevice find_device(std::string_view device) {
  if (device == kAutomatic) return automatic();
  for (DeviceFamily* family : device_families()) {
    std::optional<int> number = number_in(device, family->traits());
    if (!number) continue;
    if (*number >= family->count()) fail_unusable(device, *family);
    return {family, *number};
  }
  fail_unknown(device);
}

bool is_usable(std::string_view device, std::string* why) {
  try {
    find_device(device);
    return true;
  } catch (const ValueError& error) {
    if (why != nullptr) *why = error.what();
    return false;
  }
}

std::vector<DeviceFamily*> preferred_families() {
  std::vector<DeviceFamily*> families = device_families();
  std::erase_if(families, [](const DeviceFamily* family) { return !family->traits().preferred; });
  return families;
}

Backend& backend(std::string_view device) {
  FoundDevice found = find_device(device);
  return found.family->open(found.index);
}

}  // namespace stoker
