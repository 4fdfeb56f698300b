// Byte-pair encoding: a word begins as characters; of all neighbours that may be merged, those whose
// merge was learned first are merged first. A heap holds the candidates, so that a word of n
// characters costs n log n. Words that were seen before are remembered.
#include <array>
#include <atomic>
#include <queue>
#include <unordered_map>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/utf8.h"
#include "data/text/token_table.h"
#include "data/text/tokenizer/token_model.h"

namespace stoker::text {

namespace {

constexpr size_t kRemembered = 1 << 15;     // words per thread
constexpr size_t kLongestRemembered = 256;  // bytes

struct Merge {
  int64_t rank, id;
};
struct Symbol {
  int64_t id = 0;
  int32_t before = -1, after = -1;  // -1: none
  bool gone = false;
};
struct Candidate {
  int64_t rank;
  int32_t at;  // the left one
  int64_t left, right, id;
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

class Bpe final : public TokenModel {
 public:
  explicit Bpe(const JsonReader& json)
      : ids_(json),
        prefix_(json.text("continuing_subword_prefix", "")),
        suffix_(json.text("end_of_word_suffix", "")),
        fuse_unknown_(json.flag("fuse_unk", false)),
        byte_fallback_(json.flag("byte_fallback", false)),
        ignore_merges_(json.flag("ignore_merges", false)) {
    if (auto unknown = json.optional_text("unk_token")) {
      unknown_ = ids_.id_of(*unknown);
      if (unknown_ < 0) json.refuse("unk_token", "in the vocabulary");
    }
    if (json.has("dropout") && json.at("dropout") != 0)
      json.refuse("dropout", "null or 0; merges at random are not supported");
    for (int byte = 0; byte < 256; ++byte)
      bytes_[size_t(byte)] = ids_.id_of(fmt::format("<0x{:02X}>", byte));
    read_merges(json);
  }

  void add_tokens(std::string_view word, std::vector<int64_t>& ids) const override {
    if (word.empty()) return;
    if (word.size() > kLongestRemembered) return merge(word, ids);
    Remembered& words = remembered();
    auto found = words.tokens.find(word);
    if (found == words.tokens.end()) {
      if (words.tokens.size() >= kRemembered) words.tokens.clear();
      std::vector<int64_t> made;
      merge(word, made);
      found = words.tokens.emplace(std::string(word), std::move(made)).first;
    }
    ids.insert(ids.end(), found->second.begin(), found->second.end());
  }
  int64_t id_of(std::string_view token) const override { return ids_.id_of(token); }
  const std::string* token_of(int64_t id) const override { return ids_.token_of(id); }
  int64_t end() const override { return ids_.end(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return size_t(token_hash(word)); }
  };
  struct Remembered {
    uint64_t owner = 0;
    std::unordered_map<std::string, std::vector<int64_t>, Hash, std::equal_to<>> tokens;
  };
  // Of the model that this thread used last.
  Remembered& remembered() const {
    thread_local Remembered words;
    if (words.owner != serial_) words.tokens.clear(), words.owner = serial_;
    return words;
  }
  static uint64_t next_serial() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
  }
  static uint64_t pair_of(int64_t left, int64_t right) {
    return uint64_t(left) << 32 | uint64_t(right);
  }

  void read_merges(const JsonReader& json) {
    const nlohmann::json& merges = json.list("merges");
    int64_t rank = 0;
    for (const auto& each : merges) {
      std::string left, right;
      std::string where = json.where("merges");
      if (each.is_array() && each.size() == 2) {
        left = text_in(each[0], where, size_t(rank)), right = text_in(each[1], where, size_t(rank));
      } else {
        std::string both = text_in(each, where, size_t(rank));
        size_t space = both.find(' ');
        if (space == std::string::npos)
          throw ValueError(fmt::format("{}[{}] is no pair of tokens", where, rank));
        left = both.substr(0, space), right = both.substr(space + 1);
      }
      if (right.size() < prefix_.size())
        throw ValueError(
            fmt::format("{}[{}]: \"{}\" is shorter than the prefix", where, rank, right));
      int64_t a = ids_.id_of(left), b = ids_.id_of(right);
      int64_t made = ids_.id_of(left + right.substr(prefix_.size()));
      if (a < 0 || b < 0 || made < 0)
        throw ValueError(
            fmt::format("{}[{}]: \"{}\" and \"{}\" and both together are not all in the vocabulary",
                        where, rank, left, right));
      merges_[pair_of(a, b)] = {rank++, made};
    }
  }

  void merge(std::string_view word, std::vector<int64_t>& ids) const {
    if (ignore_merges_)
      if (int64_t whole = ids_.id_of(word); whole >= 0) return ids.push_back(whole);
    std::vector<Symbol> symbols = symbols_of(word);
    std::priority_queue<Candidate> candidates;
    auto consider = [&](int32_t at) {
      if (at < 0 || symbols[size_t(at)].after < 0) return;
      int64_t left = symbols[size_t(at)].id, right = symbols[size_t(symbols[size_t(at)].after)].id;
      auto found = merges_.find(pair_of(left, right));
      if (found != merges_.end())
        candidates.push({found->second.rank, at, left, right, found->second.id});
    };
    for (size_t at = 0; at < symbols.size(); ++at) consider(int32_t(at));
    while (!candidates.empty()) {
      Candidate best = candidates.top();
      candidates.pop();
      Symbol& left = symbols[size_t(best.at)];
      if (left.gone || left.id != best.left || left.after < 0) continue;
      Symbol& right = symbols[size_t(left.after)];
      if (right.id != best.right) continue;
      left.id = best.id;
      right.gone = true;
      left.after = right.after;
      if (left.after >= 0) symbols[size_t(left.after)].before = best.at;
      consider(left.before);
      consider(best.at);
    }
    for (const Symbol& symbol : symbols)
      if (!symbol.gone) ids.push_back(symbol.id);
  }

  std::vector<Symbol> symbols_of(std::string_view word) const {
    std::vector<Symbol> symbols;
    bool after_unknown = false;
    std::string name;
    auto add = [&](int64_t id) {
      auto at = int32_t(symbols.size());
      if (at > 0) symbols.back().after = at;
      symbols.push_back({id, at - 1, -1, false});
    };
    for (size_t begin = 0; begin < word.size();) {
      size_t bytes = first_character(word.substr(begin)).bytes;
      std::string_view character = word.substr(begin, bytes);
      name.assign(begin > 0 ? prefix_ : "").append(character);
      begin += bytes;
      if (begin == word.size()) name += suffix_;
      int64_t id = ids_.id_of(name);
      if (id >= 0) {
        add(id);
        after_unknown = false;
        continue;
      }
      if (byte_fallback_ && add_bytes(name, add)) {
        after_unknown = false;
        continue;
      }
      if (unknown_ >= 0 && !(fuse_unknown_ && after_unknown)) add(unknown_);
      after_unknown = true;
    }
    return symbols;
  }
  template <class Add>
  bool add_bytes(std::string_view character, Add&& add) const {
    for (char byte : character)
      if (bytes_[uint8_t(byte)] < 0) return false;
    for (char byte : character) add(bytes_[uint8_t(byte)]);
    return true;
  }

  TokenIds ids_;
  std::string prefix_, suffix_;
  bool fuse_unknown_, byte_fallback_, ignore_merges_;
  int64_t unknown_ = -1;
  std::array<int64_t, 256> bytes_;
  std::unordered_map<uint64_t, Merge> merges_;
  uint64_t serial_ = next_serial();
};

}  // namespace

std::unique_ptr<const TokenModel> make_bpe(const JsonReader& json) {
  return std::make_unique<Bpe>(json);
}

}  // namespace stoker::text
