#include "formats/sha256.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace stoker {

namespace {

// The first 32 bits of the fractions of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const std::byte* bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 |
         uint32_t(bytes[3]);
}

}  // namespace

void Sha256::block(const std::byte* bytes) {
  std::array<uint32_t, 64> words;
  for (size_t t = 0; t < 16; ++t) words[t] = big_endian(bytes + 4 * t);
  for (size_t t = 16; t < 64; ++t) {
    uint32_t x = words[t - 15], y = words[t - 2];
    words[t] = words[t - 16] + words[t - 7] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) +
               (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t t = 0; t < 64; ++t) {
    uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                     ((e & f) ^ (~e & g)) + kRounds[t] + words[t];
    uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  std::array<uint32_t, 8> sums = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < sums.size(); ++i) state_[i] += sums[i];
}

void Sha256::update(std::span<const std::byte> bytes) {
  size_t held = length_ % kBlock;
  length_ += bytes.size();
  if (held > 0) {
    size_t taken = std::min(bytes.size(), kBlock - held);
    std::ranges::copy(bytes.first(taken), rest_.begin() + int64_t(held));
    if (held + taken < kBlock) return;
    block(rest_.data());
    bytes = bytes.subspan(taken);
  }
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) block(bytes.data());
  std::ranges::copy(bytes, rest_.begin());
}

std::string Sha256::hex() const {
  Sha256 last = *this;
  size_t held = length_ % kBlock;
  std::array<std::byte, 2 * kBlock> end = {std::byte{0x80}};
  size_t zeros = (held < kBlock - 8 ? kBlock - 8 : 2 * kBlock - 8) - held;  // with the first 0x80
  for (size_t i = 0; i < 8; ++i) end[zeros + i] = std::byte(uint8_t(length_ * 8 >> (8 * (7 - i))));
  last.update(std::span(end).first(zeros + 8));
  std::string text;
  for (uint32_t word : last.state_) text += fmt::format("{:08x}", word);
  return text;
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace stoker
