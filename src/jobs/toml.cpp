#include "jobs/toml.h"

#include <fmt/format.h>
#include <stoker/error.h>
#include <nlohmann/json.hpp>

#ifdef STOKER_TOML
#include <sstream>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>
#endif

namespace stoker::jobs {

#ifdef STOKER_TOML

namespace {

using nlohmann::json;

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
