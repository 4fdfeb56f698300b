#include <stoker/config.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/error.h>

#include "train/files/attrs_json.h"

namespace stoker::utils {

namespace {

// Letters to insert, remove or change to get from one name to the other.
size_t distance_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t i = 0; i <= b.size(); ++i) row[i] = i;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t k = 1; k <= b.size(); ++k) {
      size_t changed = diagonal + (a[i - 1] == b[k - 1] ? 0 : 1);
      diagonal = std::exchange(row[k], std::min({changed, row[k] + 1, row[k - 1] + 1}));
    }
  }
  return row[b.size()];
}

}  // namespace

void Config::set(std::string_view name, Attr value) {
  expect_thawed();
  values_.set(name, std::move(value));
}

void Config::update(const Attrs& more) {
  expect_thawed();
  for (const auto& [name, value] : more.entries()) values_.set(name, value);
}

Attr Config::pop(std::string_view name) {
  expect_thawed();
  expect(name);
  Attr value = *values_.find(name);
  Attrs rest;
  for (const auto& [other, kept] : values_.entries())
    if (other != name) rest.set(other, kept);
  values_ = std::move(rest);
  return value;
}

std::vector<std::string> Config::keys() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_.entries()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

void Config::expect(std::string_view name) const {
  if (contains(name)) return;
  std::vector<std::string> names = keys();
  auto meant = std::ranges::min_element(
      names, {}, [&](const std::string& known) { return distance_between(known, name); });
  if (meant != names.end() && distance_between(*meant, name) <= 1 + name.size() / 4)
    throw ValueError(fmt::format("Config: there is no \"{}\"; did you mean \"{}\"?", name, *meant));
  throw ValueError(
      fmt::format("Config: there is no \"{}\"; there {}", name,
                  names.empty() ? "is nothing" : fmt::format("are {}", fmt::join(names, ", "))));
}

void Config::expect_thawed() const {
  if (frozen_)
    throw ValueError("Config: it is frozen and cannot be changed; call unfreeze() first");
}

std::string Config::to_json() const { return attrs_to_json(values_); }

Config Config::from_json(std::string_view text) { return Config(attrs_from_json(text)); }

}  // namespace stoker::utils
