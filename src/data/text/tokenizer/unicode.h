// What characters are, and the forms of text: what tokenisers ask of Unicode. The tables are small
// (docs/design/022), and opened once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stoker::text {

enum CharacterKind : uint16_t {
  kLetter = 1,        // \p{L}
  kNumber = 2,        // \p{N}
  kSpace = 4,         // \s
  kPunctuation = 8,   // BERT's: \p{P} and all of ASCII that is no letter, number or control
  kWord = 16,         // \w
  kDigit = 32,        // what Digits cuts out
  kMark = 64,         // \p{M}
  kNonspacing = 128,  // \p{Mn}
  kDropped = 256,     // what BERT's clean_text leaves out
  kBlank = 512,       // what it turns into a space
};

uint16_t kind_of(uint32_t code);
inline bool is(uint32_t code, uint16_t kinds) { return (kind_of(code) & kinds) != 0; }
bool is_chinese(uint32_t code);  // as BERT has it

std::string lowercase(std::string_view text);   // character by character, whatever stands beside it
std::u32string decoded(std::string_view text);  // of valid UTF-8
std::string encoded(std::u32string_view codes);
std::u32string decomposed(std::u32string_view codes);  // NFD
std::u32string composed(std::u32string_view codes);    // NFC

}  // namespace stoker::text
