#include "formats/sealed_json.h"

#include <charconv>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/file.h"
#include "formats/crc32c.h"
#include "formats/json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCrcBegin = ",\"crc32c\":\"", kCrcEnd = "\"}\n";
constexpr size_t kCrcDigits = 8;
constexpr size_t kEndBytes = kCrcBegin.size() + kCrcDigits + kCrcEnd.size();

// The checksum stands at a fixed distance from the end and covers all before it.
void check_crc(std::string_view text) {
  if (text.size() < kEndBytes) throw ValueError("it ends before its checksum");
  std::string_view end = text.substr(text.size() - kEndBytes);
  if (!end.starts_with(kCrcBegin) || !end.ends_with(kCrcEnd))
    throw ValueError("it does not end with its checksum");
  uint32_t stored = crc_from_hex(end.substr(kCrcBegin.size(), kCrcDigits));
  uint32_t computed = crc32c(as_bytes(text.substr(0, text.size() - kEndBytes)));
  if (stored != computed)
    throw ValueError(fmt::format("its checksum is wrong: expected {}, got {}", crc_to_hex(computed),
                                 crc_to_hex(stored)));
}

}  // namespace

std::string crc_to_hex(uint32_t crc) { return fmt::format("{:08x}", crc); }

uint32_t crc_from_hex(std::string_view text) {
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (crc_to_hex(value) != text)
    throw ValueError(fmt::format("\"{:.20}\" is not a checksum", text));
  return value;
}

std::string seal_json(const Json& object) {
  std::string text = dump_json(object);
  text.pop_back();  // its closing brace
  uint32_t crc = crc32c(as_bytes(text));
  return fmt::format("{}{}{}{}", text, kCrcBegin, crc_to_hex(crc), kCrcEnd);
}

Json open_sealed_json(std::string_view text) {
  check_crc(text);
  return parse_ordered_json(text);
}

const Json& json_member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key))
    throw ValueError(fmt::format("\"{}\" is missing", key));
  return object.at(key);
}

uint64_t json_count(const Json& object, const char* key) {
  const Json& value = json_member(object, key);
  if (!value.is_number_unsigned()) throw ValueError(fmt::format("\"{}\" is not a count", key));
  return value.get<uint64_t>();
}

const std::string& json_text(const Json& object, const char* key) {
  const Json& value = json_member(object, key);
  if (!value.is_string()) throw ValueError(fmt::format("\"{}\" is not a string", key));
  return value.get_ref<const std::string&>();
}

const Json& json_list(const Json& object, const char* key) {
  const Json& value = json_member(object, key);
  if (!value.is_array()) throw ValueError(fmt::format("\"{}\" is not a list", key));
  return value;
}

}  // namespace stoker
