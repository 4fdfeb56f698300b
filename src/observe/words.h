// What the doctor's sentences are made of. A sentence cannot have a hole: say() takes numbers and
// phrases, and a phrase is never empty.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "observe/evidence.h"

namespace stoker::doctor {

class Phrase {
 public:
  // `otherwise` stands in for an empty text.
  template <size_t N>
  Phrase(std::string_view text, const char (&otherwise)[N])
      : text_(text.empty() ? otherwise : text) {
    static_assert(N > 1, "what stands in for an empty text is not empty");
  }
  template <size_t N>
  Phrase(const char (&literal)[N]) : text_(literal) {  // NOLINT: a literal is a phrase
    static_assert(N > 1, "a phrase is not empty");
  }
  const std::string& text() const { return text_; }
  operator const std::string&() const { return text_; }  // NOLINT: a phrase is a text

 private:
  std::string text_;
};

template <class T>
concept Sayable = std::is_arithmetic_v<T> || std::is_same_v<T, Phrase>;

template <Sayable... Args>
Phrase say(fmt::format_string<const Args&...> text, const Args&... args) {
  return Phrase(fmt::format(text, args...), "?");
}

Phrase percent(double share);     // "12 %", "0.4 %"
Phrase duration(double seconds);  // "12.3 ms"
Phrase words_of(Limit limit);     // "input"
// "; 2 ops are above …", for the end of a sentence; empty where no share of a peak is above all of
// it.
std::string above_peak(std::span<const LayerReport> ops);

}  // namespace stoker::doctor

template <>
struct fmt::formatter<stoker::doctor::Phrase> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const stoker::doctor::Phrase& phrase, Context& context) const {
    return fmt::formatter<std::string_view>::format(phrase.text(), context);
  }
};
