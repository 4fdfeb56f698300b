// Reads an object of a JSON file that is not trusted: every entry has to be of the kind that is asked
// for, and the error says where it stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace stoker::text {

class JsonReader {
 public:
  using Json = nlohmann::json;
  // ValueError unless it is an object. `where`: how it is called in messages, "model". The JSON must
  // outlive it.
  JsonReader(const Json& object, std::string where);

  // Null and absent are the same.
  bool has(const char* name) const { return find(name) != nullptr; }
  const Json& at(const char* name) const;  // ValueError: it is missing

  bool flag(const char* name, bool fallback) const;
  int64_t whole(const char* name, int64_t fallback) const;
  int64_t whole(const char* name) const;
  std::string text(const char* name) const;
  std::string text(const char* name, const std::string& fallback) const;
  std::optional<std::string> optional_text(const char* name) const;
  std::optional<int64_t> optional_whole(const char* name) const;
  const Json& list(const char* name) const;  // ValueError: missing, or no list
  JsonReader object(const char* name) const;

  std::string where(const char* name) const { return where_.empty() ? name : where_ + "." + name; }
  [[noreturn]] void refuse(const char* name, const std::string& expected) const;

 private:
  const Json* find(const char* name) const;

  const Json& json_;
  std::string where_;
};

// One value of a list; ValueError names the place.
std::string text_in(const nlohmann::json& value, const std::string& where, size_t index);
int64_t whole_in(const nlohmann::json& value, const std::string& where, size_t index);
double number_in(const nlohmann::json& value, const std::string& where, size_t index);

}  // namespace stoker::text
