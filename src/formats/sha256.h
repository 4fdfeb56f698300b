// SHA-256 (FIPS 180-4): names contents so that equal names mean equal bytes. Pure; from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace stoker {

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  // Of all the bytes so far, as 64 hexadecimal digits; more may follow.
  std::string hex() const;

 private:
  static constexpr size_t kBlock = 64;
  void block(const std::byte* bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlock> rest_ = {};
  uint64_t length_ = 0;
};

std::string sha256(std::span<const std::byte> bytes);

}  // namespace stoker
