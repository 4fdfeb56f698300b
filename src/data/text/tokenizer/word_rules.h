// The regular expressions by which byte-level tokenisers cut text, as code: a general matcher with
// look-ahead and Unicode classes would be larger and slower.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace stoker::text {

// How many characters from `begin` the next word takes; at least 1.
using WordRule = size_t (*)(std::u32string_view text, size_t begin);

// GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t gpt2_word(std::u32string_view text, size_t begin);
// The rule for a regular expression; null: it is not one of the known ones.
WordRule known_rule(std::string_view regex);

}  // namespace stoker::text
