// The tokens of a lookup with their numbers and weights: what adapt learns. Immutable.
#pragma once

#include <span>
#include <unordered_map>

#include <fmt/format.h>
#include <stoker/text.h>

#include "data/text/token_table.h"

namespace stoker::text {

template <class Token>
class Vocabulary {
 public:
  using View = typename ViewOf<Token>::type;
  using Options = LookupOptions<Token>;

  // Tokens without the special ones; `weights` one per column, tf_idf only. ValueError: a token is
  // there twice, or reserved, or there are too many.
  Vocabulary(const std::string& owner, const Options& options, std::vector<Token> tokens,
             std::vector<float> weights);

  const std::vector<Token>& tokens() const { return table_.tokens(); }
  const std::vector<float>& weights() const { return weights_; }
  int64_t size() const { return first_ + table_.size(); }
  int64_t columns() const { return columns_; }

  // In multi_hot, count and tf_idf mode tokens that are left out get this number.
  static constexpr int64_t kMasked = -1;
  // ValueError for one that is not in the vocabulary, where there is no place for those.
  int64_t index_of(View token) const {
    int64_t found = table_.find(token);
    if (has_mask_ && token == View(mask_)) return masked_;
    return found >= 0 ? found + first_ : unknown(token);
  }
  // invert: the token of an index.
  const Token& token_of(int64_t index) const;

  // One row of numbers as columns of multi_hot, count or tf_idf.
  void encode(std::span<const int64_t> indices, OutputMode mode, float* row) const;
  uint64_t checksum() const;

 private:
  int64_t unknown(View token) const;

  std::string owner_;
  TokenTable<Token> table_;
  std::vector<float> weights_;
  bool has_mask_;
  Token mask_, oov_;
  int64_t masked_, oov_start_, first_, places_, columns_;
  OovMethod method_;
  std::optional<std::pair<uint64_t, uint64_t>> salt_;
};

// Where the special tokens end: the index of the first token.
template <class Token>
int64_t oov_start(const LookupOptions<Token>& options) {
  return options.mask_token && options.output_mode == OutputMode::int_ ? 1 : 0;
}
template <class Token>
int64_t first_index(const LookupOptions<Token>& options) {
  return oov_start(options) + options.num_oov_indices;
}

template <class Token>
std::vector<Token> special_tokens(const LookupOptions<Token>& options) {
  std::vector<Token> tokens;
  if (oov_start(options) == 1) tokens.push_back(*options.mask_token);
  tokens.insert(tokens.end(), size_t(options.num_oov_indices), options.oov_token);
  return tokens;
}

// The tokens by their index; none where there is no vocabulary.
template <class Token>
std::vector<Token> all_tokens(const LookupOptions<Token>& options,
                              const Vocabulary<Token>* vocabulary, const VocabularyOptions& which) {
  std::vector<Token> tokens;
  if (vocabulary == nullptr) return tokens;
  if (which.include_special_tokens) tokens = special_tokens(options);
  tokens.insert(tokens.end(), vocabulary->tokens().begin(), vocabulary->tokens().end());
  return tokens;
}

// ValueError: options that contradict each other.
template <class Token>
void check_options(const std::string& owner, const LookupOptions<Token>& options);

// A vocabulary that a user gives, with or without the special tokens in front.
template <class Token>
std::shared_ptr<const Vocabulary<Token>> given_vocabulary(const std::string& owner,
                                                          const LookupOptions<Token>& options,
                                                          const std::vector<Token>& tokens,
                                                          const std::vector<double>& weights);

// Counts tokens, document by document.
template <class Token>
class TokenCounter {
 public:
  using View = typename ViewOf<Token>::type;
  void begin_document() { ++documents_; }
  void add(View token);
  std::shared_ptr<const Vocabulary<Token>> vocabulary(const std::string& owner,
                                                      const LookupOptions<Token>& options) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(View token) const { return size_t(token_hash(token)); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(View a, View b) const { return a == b; }
  };
  struct Count {
    int64_t total = 0, documents = 0, last = 0;
  };
  std::unordered_map<Token, Count, Hash, Equal> counts_;
  int64_t documents_ = 0;
};

inline std::string token_text(std::string_view token) { return fmt::format("\"{}\"", token); }
inline std::string token_text(int64_t token) { return std::to_string(token); }

}  // namespace stoker::text
