// How a tokeniser cuts text into words: the "pre_tokenizer" of a tokenizer.json.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace stoker::text {

struct Piece {
  std::string text;
  bool first = false;  // the beginning of what is encoded
};
using Pieces = std::vector<Piece>;
using PreTokenizer = std::function<void(Pieces& pieces)>;

// Of null: every piece is a word. ValueError names a kind that is not known.
PreTokenizer make_pre_tokenizer(const nlohmann::json& json, const std::string& where);

// GPT-2 shows each byte as a character that can be printed.
const std::array<std::string, 256>& byte_characters();
// The byte that a character stands for; -1: none.
int byte_of_character(uint32_t code);

}  // namespace stoker::text
