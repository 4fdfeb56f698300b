#include "data/text/json_reader.h"

#include <cmath>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker::text {

namespace {

using Json = nlohmann::json;

bool is_whole(const Json& value) {
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX));
}

[[noreturn]] void fail_in(const std::string& where, size_t index, const char* expected) {
  throw ValueError(fmt::format("{}[{}] is not {}", where, index, expected));
}

}  // namespace

JsonReader::JsonReader(const Json& object, std::string where)
    : json_(object), where_(std::move(where)) {
  if (!json_.is_object())
    throw ValueError(fmt::format("{} is no object", where_.empty() ? "the document" : where_));
}

const Json* JsonReader::find(const char* name) const {
  auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

const Json& JsonReader::at(const char* name) const {
  const Json* found = find(name);
  if (found == nullptr) throw ValueError(where(name) + " is missing");
  return *found;
}

void JsonReader::refuse(const char* name, const std::string& expected) const {
  throw ValueError(fmt::format("{} is not {}", where(name), expected));
}

bool JsonReader::flag(const char* name, bool fallback) const {
  const Json* found = find(name);
  if (found == nullptr) return fallback;
  if (!found->is_boolean()) refuse(name, "true or false");
  return found->get<bool>();
}

int64_t JsonReader::whole(const char* name) const {
  const Json& found = at(name);
  if (!is_whole(found)) refuse(name, "a whole number");
  return found.get<int64_t>();
}

int64_t JsonReader::whole(const char* name, int64_t fallback) const {
  return has(name) ? whole(name) : fallback;
}

std::string JsonReader::text(const char* name) const {
  const Json& found = at(name);
  if (!found.is_string()) refuse(name, "a text");
  return found.get<std::string>();
}

std::string JsonReader::text(const char* name, const std::string& fallback) const {
  return has(name) ? text(name) : fallback;
}

std::optional<std::string> JsonReader::optional_text(const char* name) const {
  return has(name) ? std::optional(text(name)) : std::nullopt;
}

std::optional<int64_t> JsonReader::optional_whole(const char* name) const {
  return has(name) ? std::optional(whole(name)) : std::nullopt;
}

const Json& JsonReader::list(const char* name) const {
  const Json& found = at(name);
  if (!found.is_array()) refuse(name, "a list");
  return found;
}

JsonReader JsonReader::object(const char* name) const { return {at(name), where(name)}; }

std::string text_in(const Json& value, const std::string& where, size_t index) {
  if (!value.is_string()) fail_in(where, index, "a text");
  return value.get<std::string>();
}

int64_t whole_in(const Json& value, const std::string& where, size_t index) {
  if (!is_whole(value)) fail_in(where, index, "a whole number");
  return value.get<int64_t>();
}

double number_in(const Json& value, const std::string& where, size_t index) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) fail_in(where, index, "a number");
  return value.get<double>();
}

}  // namespace stoker::text
