// A perfect memory of which token has which number: open addressing, two reads per lookup, no
// allocation. Immutable once made.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::text {

__extension__ using Wide = unsigned __int128;

inline uint64_t token_hash(uint64_t number) {
  Wide wide = Wide(number ^ 0x9E3779B97F4A7C15ULL) * 0xD1342543DE82EF95ULL;
  return uint64_t(wide) ^ uint64_t(wide >> 64);
}
inline uint64_t token_hash(int64_t number) { return token_hash(uint64_t(number)); }
inline uint64_t token_hash(std::string_view text) {
  uint64_t hash = text.size(), eight = 0;
  for (; text.size() > sizeof(eight); text.remove_prefix(sizeof(eight))) {
    std::memcpy(&eight, text.data(), sizeof(eight));
    hash = token_hash(hash ^ eight);
  }
  eight = 0;
  std::memcpy(&eight, text.data(), text.size());
  return token_hash(hash ^ eight);
}

template <class Token>
struct ViewOf {
  using type = Token;
};
template <>
struct ViewOf<std::string> {
  using type = std::string_view;
};

template <class Token>
class TokenTable {
 public:
  using View = typename ViewOf<Token>::type;

  TokenTable() : TokenTable(std::vector<Token>()) {}
  // Of equal tokens the first counts; repeated() says which was the next.
  explicit TokenTable(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
    slots_.resize(std::bit_ceil(2 * tokens_.size() + 2));
    for (size_t index = 0; index < tokens_.size(); ++index) {
      uint64_t hash = token_hash(View(tokens_[index]));
      Slot* slot = &slots_[hash & (slots_.size() - 1)];
      while (slot->index >= 0 && tokens_[size_t(slot->index)] != tokens_[index])
        if (++slot == slots_.data() + slots_.size()) slot = slots_.data();
      if (slot->index < 0)
        *slot = {uint32_t(hash >> 32), int32_t(index)};
      else if (repeated_ < 0)
        repeated_ = int64_t(index);
    }
  }

  // -1: not there.
  int64_t find(View token) const {
    uint64_t hash = token_hash(token);
    size_t at = hash & (slots_.size() - 1);
    for (;; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.index < 0) return -1;
      if (slot.check == uint32_t(hash >> 32) && View(tokens_[size_t(slot.index)]) == token)
        return slot.index;
    }
  }
  const std::vector<Token>& tokens() const { return tokens_; }
  int64_t size() const { return int64_t(tokens_.size()); }
  int64_t repeated() const { return repeated_; }  // the second of two equal ones; -1: none

 private:
  struct Slot {
    uint32_t check = 0;
    int32_t index = -1;
  };
  std::vector<Token> tokens_;
  std::vector<Slot> slots_;
  int64_t repeated_ = -1;
};

}  // namespace stoker::text
