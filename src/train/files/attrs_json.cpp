#include "train/files/attrs_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

Json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  return {{"double", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

Json attr_to_json(const std::string& name, const Attr& attr) {
  return std::visit(
      [&]<class T>(const T& value) -> Json {
        if constexpr (std::is_same_v<T, std::shared_ptr<const HostFunction>>) {
          throw ValueError(
              fmt::format("\"{}\" is a C++ function, which cannot be written to a file", name));
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const Graph>>) {
          throw ValueError(fmt::format("\"{}\" is a graph, which cannot be written here", name));
        } else if constexpr (std::is_same_v<T, double>) {
          return number_to_json(value);
        } else if constexpr (std::is_same_v<T, Doubles>) {
          if (value.empty()) return {{"doubles", Json::array()}};  // [] would be read as integers
          Json list = Json::array();
          for (double each : value) list.push_back(number_to_json(each));
          return list;
        } else {
          return value;
        }
      },
      attr);
}

bool is_special(const Json& json) {
  return json.is_object() && json.size() == 1 && json.contains("double");
}

double number_from_json(const std::string& name, const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (is_special(json)) {
    if (json["double"] == "inf") return std::numeric_limits<double>::infinity();
    if (json["double"] == "-inf") return -std::numeric_limits<double>::infinity();
    if (json["double"] == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  throw ValueError(fmt::format("\"{}\" holds something that is not a number", name));
}

bool is_int64(const Json& json) {
  return json.is_number_integer() &&
         !(json.is_number_unsigned() &&
           json.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()));
}

Attr attr_from_json(const std::string& name, const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_string()) return json.get<std::string>();
  if (is_int64(json)) return json.get<int64_t>();
  if (json.is_number() || is_special(json)) return number_from_json(name, json);
  if (json == Json{{"doubles", Json::array()}}) return Doubles();
  if (!json.is_array())
    throw ValueError(fmt::format("\"{}\" is no value that an option can have", name));
  if (std::ranges::all_of(json, is_int64)) return json.get<Ints>();
  Doubles numbers;
  for (const Json& each : json) numbers.push_back(number_from_json(name, each));
  return numbers;
}

}  // namespace

std::string attrs_to_json(const Attrs& attrs) {
  Json json = Json::object();
  for (const auto& [name, value] : attrs.entries()) json[name] = attr_to_json(name, value);
  return dump_json(json);
}

Attrs attrs_from_json(std::string_view text) {
  Json json = parse_ordered_json(text);
  if (!json.is_object()) throw ValueError("a configuration is not a JSON object");
  Attrs attrs;
  for (const auto& [name, value] : json.items()) attrs.set(name, attr_from_json(name, value));
  return attrs;
}

}  // namespace stoker
