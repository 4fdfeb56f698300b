// JSON texts of Stoker's own formats: an object whose last member is the CRC-32C of all before it,
// and its members read without trust. Everything that is wrong is a ValueError.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace stoker {

// The object as one line that ends with its checksum; ValueError when a string is not UTF-8.
std::string seal_json(const nlohmann::ordered_json& object);
// The object in a text that seal_json has written.
nlohmann::ordered_json open_sealed_json(std::string_view text);

std::string crc_to_hex(uint32_t crc);  // eight digits
uint32_t crc_from_hex(std::string_view text);

const nlohmann::ordered_json& json_member(const nlohmann::ordered_json& object, const char* key);
uint64_t json_count(const nlohmann::ordered_json& object, const char* key);
const std::string& json_text(const nlohmann::ordered_json& object, const char* key);
const nlohmann::ordered_json& json_list(const nlohmann::ordered_json& object, const char* key);

}  // namespace stoker
