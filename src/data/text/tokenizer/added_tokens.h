// Tokens beside the model's vocabulary ("added_tokens"), which are found in a text before anything
// else happens to it. Immutable.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/text/tokenizer/normalizer.h"

namespace stoker::text {

struct AddedToken {
  int64_t id = 0;
  std::string content;
  std::string shown;         // in the form of the text that it is looked for in, and decoded to
  bool single_word = false;  // not inside a word
  bool lstrip = false, rstrip = false;  // takes the spaces beside it
  bool normalized = true;               // is looked for in the normalised text
  bool special = false;
};

// A text cut at added tokens: a token, or text between them.
struct Segment {
  int64_t id = -1;  // -1: text
  std::string_view text;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // Of null: none.
  AddedTokens(const nlohmann::json& json, const Normalizer& normalizer);

  // `normalized`: whether the text is; each token is looked for in one of the two forms.
  void cut(std::string_view text, bool normalized, std::vector<Segment>& segments) const;

  const AddedToken* find(int64_t id) const;
  const AddedToken* find(std::string_view content) const;
  int64_t end() const { return end_; }  // behind the largest id; 0: none

 private:
  // Where a token is looked for, by its first byte, longest first.
  struct Pattern {
    std::string text;
    size_t token;
  };
  using Patterns = std::vector<std::vector<Pattern>>;  // 256, or none
  const Pattern* match(const Patterns& patterns, std::string_view text) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<int64_t, size_t> by_id_;
  std::unordered_map<std::string, size_t> by_content_;
  Patterns raw_, normalized_;
  int64_t end_ = 0;
};

}  // namespace stoker::text
