// JSON from outside and to files, with the errors of Stoker instead of the parser's. Everything
// that reads a file, a command line or a state reads it here: a document that is nested deeper than
// kMaxJsonDepth would overflow the stack of whatever walks over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace stoker {

inline constexpr int kMaxJsonDepth = 200;

enum class JsonComments : uint8_t { refuse, allow };

// ValueError: "not JSON: …", with line and column, or "nested more than 200 deep".
nlohmann::json parse_json(std::string_view text, JsonComments comments = JsonComments::refuse);
nlohmann::ordered_json parse_ordered_json(std::string_view text);
// Discarded where the others would throw.
nlohmann::json try_parse_json(std::string_view text);

// ValueError when a string in it is not UTF-8, which JSON has to be; the text shows the bytes.
// indent -1: one line.
std::string dump_json(const nlohmann::json& json, int indent = -1);
std::string dump_json(const nlohmann::ordered_json& json, int indent = -1);
// For what is only looked at: bytes that are not UTF-8 become U+FFFD.
std::string dump_report(const nlohmann::json& json, int indent = -1);

}  // namespace stoker
