// CRC-32C (Castagnoli): the checksum of TFRecord and of Stoker's own shards. With the instruction
// of SSE 4.2 where the processor has it, else by tables. Pure; from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker {

// Of bytes that follow others whose checksum is `before`: crc32c(b, crc32c(a)) is that of a and b.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

// As TFRecord stores it: rotated and shifted, so that the checksum of bytes that hold checksums is
// not degenerate.
constexpr uint32_t mask_crc32c(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8U; }

// The two ways, for tests that compare them. The second must not be called where there is no such
// instruction.
uint32_t crc32c_by_table(std::span<const std::byte> bytes, uint32_t before = 0);
uint32_t crc32c_by_instruction(std::span<const std::byte> bytes, uint32_t before = 0);
bool has_crc32c_instruction();

}  // namespace stoker
