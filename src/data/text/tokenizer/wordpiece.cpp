// WordPiece: the longest token that begins the word, then the longest that goes on with it.
#include <algorithm>

#include <stoker/error.h>

#include "base/utf8.h"
#include "data/text/tokenizer/token_model.h"

namespace stoker::text {

namespace {

class WordPiece final : public TokenModel {
 public:
  explicit WordPiece(const JsonReader& json)
      : ids_(json),
        prefix_(json.text("continuing_subword_prefix", "##")),
        most_characters_(json.whole("max_input_chars_per_word", 100)),
        unknown_(ids_.id_of(json.text("unk_token", "[UNK]"))) {}

  void add_tokens(std::string_view word, std::vector<int64_t>& ids) const override {
    if (word.empty()) return;
    size_t before = ids.size();
    if (characters(word) <= most_characters_ && add_pieces(word, ids)) return;
    ids.resize(before);
    if (unknown_ < 0)
      throw ValueError("model.unk_token is not in the vocabulary, and a word needs it");
    ids.push_back(unknown_);
  }
  int64_t id_of(std::string_view token) const override { return ids_.id_of(token); }
  const std::string* token_of(int64_t id) const override { return ids_.token_of(id); }
  int64_t end() const override { return ids_.end(); }

 private:
  static int64_t characters(std::string_view word) {
    int64_t count = 0;
    for (char byte : word) count += (uint8_t(byte) & 0xC0) != 0x80;
    return count;
  }
  bool add_pieces(std::string_view word, std::vector<int64_t>& ids) const {
    std::string piece;
    size_t begin = 0;
    while (begin < word.size()) {
      int64_t found = -1;
      size_t end = std::min(word.size(), begin + ids_.longest());
      for (; end > begin; --end) {
        if (end < word.size() && (uint8_t(word[end]) & 0xC0) == 0x80) continue;
        piece.assign(begin > 0 ? prefix_ : "").append(word.substr(begin, end - begin));
        found = ids_.id_of(piece);
        if (found >= 0) break;
      }
      if (found < 0) return false;
      ids.push_back(found);
      begin = end;
    }
    return true;
  }

  TokenIds ids_;
  std::string prefix_;
  int64_t most_characters_, unknown_;
};

}  // namespace

std::unique_ptr<const TokenModel> make_wordpiece(const JsonReader& json) {
  return std::make_unique<WordPiece>(json);
}

}  // namespace stoker::text
