#include "jobs/toml.h"

#include <fmt/format.h>
#include <stoker/error.h>
#include <nlohmann/json.hpp>

#ifdef STOKER_TOML
#include <algorithm>
#include <sstream>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>
#endif

namespace stoker::jobs {

#ifdef STOKER_TOML

namespace {

using nlohmann::json;

// toml++ bounds nested values, but not the tables that dots in a key make: those of 20,000 dots
// overflow its stack. Every level takes a dot or a bracket. Lines of comment make none, and a
// string of several lines may look like one, but makes none either.
void check_depth(std::string_view text) {
  constexpr int64_t kMost = 1000;  // a job has no tables at all
  int64_t levels = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    size_t first = std::min(line.find_first_not_of(" \t"), line.size());
    if (!line.substr(first).starts_with('#'))
      levels += std::count_if(line.begin(), line.end(),
                              [](char c) { return c == '.' || c == '[' || c == '{'; });
    begin = end + 1;
  }
  if (levels > kMost)
    throw ValueError(
        fmt::format("{} dots and brackets, expected at most {}: a job is a list of keys and values",
                    levels, kMost));
}

json converted(const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    json object = json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = converted(value);
    return object;
  }
  if (const toml::array* list = node.as_array()) {
    json array = json::array();
    for (const toml::node& value : *list) array.push_back(converted(value));
    return array;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return text.str();
}

}  // namespace

json json_of_toml(std::string_view text) {
  check_depth(text);
  try {
    return converted(toml::parse(text));
  } catch (const toml::parse_error& error) {
    throw ValueError(fmt::format("not TOML: line {}, column {}: {}", error.source().begin.line,
                                 error.source().begin.column, error.description()));
  }
}

#else

nlohmann::json json_of_toml(std::string_view) {
  throw Error("this Stoker was built without toml++ (libtomlplusplus-dev); write the job as JSON");
}

#endif

}  // namespace stoker::jobs
