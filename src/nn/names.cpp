#include "nn/names.h"

#include <algorithm>
#include <cctype>

namespace stoker {

namespace {

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

// A word begins at a capital that follows a small letter, or that a small letter follows.
bool begins_word(std::string_view text, size_t at) {
  if (at == 0 || !is_upper(text[at])) return false;
  return is_lower(text[at - 1]) || (at + 1 < text.size() && is_lower(text[at + 1]));
}

}  // namespace

std::string snake_case(std::string_view kind) {
  std::string text;
  for (size_t at = 0; at < kind.size(); ++at) {
    if (begins_word(kind, at)) text += '_';
    text += char(std::tolower(static_cast<unsigned char>(kind[at])));
  }
  return text;
}

bool KindNames::is_shorthand(std::string_view word) const {
  auto upper = [](char c) { return char(std::toupper(static_cast<unsigned char>(c))); };
  return word == shorthand || std::ranges::equal(word, shorthand, {}, {}, upper);
}

std::string unique_name(const std::string& name, std::set<std::string>& taken) {
  std::string candidate = name;
  for (int number = 1; !taken.insert(candidate).second; ++number)
    candidate = name + "_" + std::to_string(number);
  return candidate;
}

std::string titled(const std::string& kind, const std::string& name) {
  return name.empty() ? kind : kind + " \"" + name + "\"";
}

std::string list_of(std::span<const std::string_view> names) {
  std::string text;
  for (std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace stoker
