#include <stoker/attrs.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/error.h>

#include "base/host_function.h"

namespace stoker {

namespace {

struct Text {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value.empty() ? "\"\"" : value; }
  std::string operator()(const Ints& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const Doubles& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::shared_ptr<const HostFunction>& function) const {
    return function ? function->name : "null";
  }
  std::string operator()(const std::shared_ptr<const Graph>&) const { return "a graph"; }
};

}  // namespace

const Attr* Attrs::find(std::string_view name) const {
  auto found = std::ranges::find(entries_, name, &Entry::first);
  return found == entries_.end() ? nullptr : &found->second;
}

void Attrs::set(std::string_view name, Attr value) {
  auto found = std::ranges::find(entries_, name, &Entry::first);
  if (found == entries_.end())
    entries_.emplace_back(name, std::move(value));
  else
    found->second = std::move(value);
}

void Attrs::fail(std::string_view name) const {
  const Attr* attr = find(name);
  throw Error(attr == nullptr
                  ? fmt::format("attribute \"{}\" is missing from {}", name, to_string(*this))
                  : fmt::format("attribute \"{}\" was asked for as another type than it has: {}",
                                name, std::visit(Text{}, *attr)));
}

std::string to_string(const Attrs& attrs) {
  std::string list;
  for (const auto& [name, value] : attrs.entries())
    list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", name, std::visit(Text{}, value));
  return "{" + list + "}";
}

}  // namespace stoker
