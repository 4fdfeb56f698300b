// A text as tokens: standardised, split, and put together to n-grams.
#pragma once

#include <span>

#include <stoker/text.h>

namespace stoker::text {

// Memory that one thread uses again and again.
struct SplitScratch {
  std::string text;                      // standardised
  std::vector<std::string> own;          // what a user's function gave
  std::vector<std::string_view> tokens;  // into text or own
  std::string joined;                    // n-grams of several tokens
  std::vector<std::string_view> ngrams;  // into text, own or joined
};

class Splitter {
 public:
  explicit Splitter(const TextVectorizationOptions& options);

  // The tokens of a text. Valid until the next call with the same scratch.
  std::span<const std::string_view> tokens(std::string_view text, SplitScratch& scratch) const;
  // Split::none: texts that are tokens already, one document.
  std::span<const std::string_view> tokens(std::span<const std::string> texts,
                                           SplitScratch& scratch) const;

 private:
  void standardize(std::string_view text, std::string& out) const;
  void split(std::string_view text, SplitScratch& scratch) const;
  std::span<const std::string_view> with_ngrams(SplitScratch& scratch) const;

  std::variant<Standardize, StandardizeFunction> standardize_;
  std::variant<Split, SplitFunction> split_;
  std::vector<int64_t> widths_;
};

}  // namespace stoker::text
