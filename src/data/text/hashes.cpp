#include "data/text/hashes.h"

#include <bit>
#include <cstring>
#include <utility>

namespace stoker::text {

namespace {

constexpr uint64_t kFirst = 0xC3A5C85C97CB3127ULL;
constexpr uint64_t kSecond = 0xB492B66FBE98F273ULL;
constexpr uint64_t kThird = 0x9AE16A3B2F90404FULL;

template <class T>
uint64_t word(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}
uint64_t word64(const char* at) { return word<uint64_t>(at); }
uint64_t turned(uint64_t value, int by) { return std::rotr(value, by); }
uint64_t folded(uint64_t value) { return value ^ value >> 47; }

uint64_t joined(uint64_t a, uint64_t b, uint64_t factor) {
  a = folded((a ^ b) * factor);
  return folded((b ^ a) * factor) * factor;
}

uint64_t hash_to_16(const char* text, size_t size) {
  uint64_t factor = kThird + 2 * size;
  if (size >= 8) {
    uint64_t a = word64(text) + kThird, b = word64(text + size - 8);
    return joined(turned(b, 37) * factor + a, (turned(a, 25) + b) * factor, factor);
  }
  if (size >= 4)
    return joined(size + (word<uint32_t>(text) << 3), word<uint32_t>(text + size - 4), factor);
  if (size == 0) return kThird;
  auto byte = [&](size_t at) { return uint32_t(uint8_t(text[at])); };
  uint32_t low = byte(0) + (byte(size / 2) << 8), high = uint32_t(size) + (byte(size - 1) << 2);
  return folded(low * kThird ^ high * kFirst) * kThird;
}

uint64_t hash_to_32(const char* text, size_t size) {
  uint64_t factor = kThird + 2 * size;
  uint64_t a = word64(text) * kSecond, b = word64(text + 8);
  uint64_t c = word64(text + size - 8) * factor, d = word64(text + size - 16) * kThird;
  return joined(turned(a + b, 43) + turned(c, 30) + d, a + turned(b + kThird, 18) + c, factor);
}

uint64_t hash_to_64(const char* text, size_t size) {
  uint64_t factor = kThird + 2 * size;
  uint64_t a = word64(text) * kThird, b = word64(text + 8);
  uint64_t c = word64(text + size - 8) * factor, d = word64(text + size - 16) * kThird;
  uint64_t y = turned(a + b, 43) + turned(c, 30) + d;
  uint64_t z = joined(y, a + turned(b + kThird, 18) + c, factor);
  uint64_t e = word64(text + 16) * factor, f = word64(text + 24);
  uint64_t g = (y + word64(text + size - 32)) * factor;
  uint64_t h = (z + word64(text + size - 24)) * factor;
  return joined(turned(e + f, 43) + turned(g, 30) + h, e + turned(f + a, 18) + g, factor);
}

using Two = std::pair<uint64_t, uint64_t>;

Two hash_32_with(const char* text, uint64_t a, uint64_t b) {
  uint64_t last = word64(text + 24);
  a += word64(text);
  b = turned(b + a + last, 21);
  uint64_t begin = a;
  a += word64(text + 8) + word64(text + 16);
  b += turned(a, 44);
  return {a + last, b + begin};
}

// 56 bytes of state that take up 64 bytes at a time.
struct Long {
  uint64_t x, y, z;
  Two v = {0, 0}, w = {0, 0};

  void take(const char* text, uint64_t factor, bool last) {
    x = turned(x + y + v.first + word64(text + 8), 37) * factor;
    y = turned(y + v.second + word64(text + 48), 42) * factor;
    x ^= w.second * (last ? 9 : 1);
    y += v.first * (last ? 9 : 1) + word64(text + 40);
    z = turned(z + w.first, 33) * factor;
    v = hash_32_with(text, v.second * factor, x + w.first);
    w = hash_32_with(text + 32, z + w.second, y + word64(text + 16));
    std::swap(z, x);
  }
};

uint64_t hash_long(const char* text, size_t size) {
  constexpr uint64_t kSeed = 81;
  Long state{.x = kSeed, .y = kSeed * kSecond + 113, .z = 0};
  state.z = folded(state.y * kThird + 113) * kThird;
  state.x = state.x * kThird + word64(text);
  const char* end = text + (size - 1) / 64 * 64;
  const char* last = text + size - 64;
  for (; text != end; text += 64) state.take(text, kSecond, false);
  uint64_t factor = kSecond + ((state.z & 0xFF) << 1);
  state.w.first += (size - 1) & 63;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.take(last, factor, true);
  return joined(joined(state.v.first, state.w.first, factor) + folded(state.y) * kFirst + state.z,
                joined(state.v.second, state.w.second, factor) + state.x, factor);
}

struct SipState {
  uint64_t v0, v1, v2, v3;

  void rounds(int count) {
    for (; count > 0; --count) {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  }
  void take(uint64_t eight) {
    v3 ^= eight;
    rounds(2);
    v0 ^= eight;
  }
};

}  // namespace

uint64_t farmhash64(std::string_view text) {
  if (text.size() <= 16) return hash_to_16(text.data(), text.size());
  if (text.size() <= 32) return hash_to_32(text.data(), text.size());
  if (text.size() <= 64) return hash_to_64(text.data(), text.size());
  return hash_long(text.data(), text.size());
}

uint64_t siphash64(std::string_view text, uint64_t key0, uint64_t key1) {
  SipState state{key0 ^ 0x736F6D6570736575ULL, key1 ^ 0x646F72616E646F6DULL,
                 key0 ^ 0x6C7967656E657261ULL, key1 ^ 0x7465646279746573ULL};
  uint64_t size = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) state.take(word64(text.data()));
  uint64_t rest = size << 56;
  for (size_t at = 0; at < text.size(); ++at) rest |= uint64_t(uint8_t(text[at])) << 8 * at;
  state.take(rest);
  state.v2 ^= 0xFF;
  state.rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace stoker::text
