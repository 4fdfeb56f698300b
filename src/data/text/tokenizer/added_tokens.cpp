#include "data/text/tokenizer/added_tokens.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/utf8.h"
#include "data/text/json_reader.h"
#include "data/text/tokenizer/unicode.h"

namespace stoker::text {

namespace {

constexpr int64_t kLargestAddedId = int64_t(1) << 24;

AddedToken read_added_token(const JsonReader& json) {
  AddedToken token;
  token.id = json.whole("id");
  if (token.id < 0 || token.id > kLargestAddedId)
    json.refuse("id", fmt::format("from 0 to {}", kLargestAddedId));
  token.content = json.text("content");
  token.special = json.flag("special", false);
  token.single_word = json.flag("single_word", false);
  token.lstrip = json.flag("lstrip", false);
  token.rstrip = json.flag("rstrip", false);
  token.normalized = json.flag("normalized", !token.special);
  return token;
}

// Where the last character of a text begins.
size_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (uint8_t(text[at]) & 0xC0) == 0x80) --at;
  return at;
}
bool ends_with_word(std::string_view text) {
  return !text.empty() && is(first_character(text.substr(last_character(text))).code, kWord);
}
bool begins_with_word(std::string_view text) {
  return !text.empty() && is(first_character(text).code, kWord);
}
size_t without_spaces_behind(std::string_view text) {
  while (!text.empty()) {
    size_t last = last_character(text);
    if (!is(first_character(text.substr(last)).code, kSpace)) break;
    text = text.substr(0, last);
  }
  return text.size();
}
size_t spaces_in_front(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    Utf8Character next = first_character(text.substr(at));
    if (!is(next.code, kSpace)) break;
    at += next.bytes;
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(const nlohmann::json& json, const Normalizer& normalizer) {
  if (json.is_null()) return;
  if (!json.is_array()) throw ValueError("added_tokens is not a list");
  raw_.resize(256), normalized_.resize(256);
  for (size_t at = 0; at < json.size(); ++at) {
    AddedToken token = read_added_token({json[at], fmt::format("added_tokens[{}]", at)});
    token.shown = token.normalized && normalizer ? normalizer(token.content) : token.content;
    by_id_[token.id] = at;
    by_content_[token.content] = at;
    end_ = std::max(end_, token.id + 1);
    if (!token.shown.empty()) {
      auto& patterns = (token.normalized ? normalized_ : raw_)[uint8_t(token.shown[0])];
      patterns.push_back({token.shown, at});
    }
    tokens_.push_back(std::move(token));
  }
  for (Patterns* all : {&raw_, &normalized_})
    for (auto& patterns : *all)
      std::stable_sort(patterns.begin(), patterns.end(), [](const Pattern& a, const Pattern& b) {
        return a.text.size() > b.text.size();
      });
}

const AddedTokens::Pattern* AddedTokens::match(const Patterns& patterns,
                                               std::string_view text) const {
  for (const Pattern& pattern : patterns[uint8_t(text[0])])
    if (text.starts_with(pattern.text)) return &pattern;
  return nullptr;
}

void AddedTokens::cut(std::string_view text, bool normalized,
                      std::vector<Segment>& segments) const {
  size_t begin = 0;  // of the text that is not yet in a segment
  for (size_t at = 0; !tokens_.empty() && at < text.size();) {
    const Pattern* found = match(normalized ? normalized_ : raw_, text.substr(at));
    if (found == nullptr) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[found->token];
    size_t start = at, stop = at + found->text.size();
    at = stop;
    if (token.single_word &&
        (ends_with_word(text.substr(0, start)) || begins_with_word(text.substr(stop))))
      continue;
    if (token.lstrip) start = std::max(without_spaces_behind(text.substr(0, start)), begin);
    if (token.rstrip) stop += spaces_in_front(text.substr(stop));
    if (start > begin) segments.push_back({-1, text.substr(begin, start - begin)});
    segments.push_back({token.id, text.substr(start, stop - start)});
    begin = stop;
  }
  if (begin < text.size()) segments.push_back({-1, text.substr(begin)});
}

const AddedToken* AddedTokens::find(int64_t id) const {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace stoker::text
