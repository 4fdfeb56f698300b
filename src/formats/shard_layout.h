// How the bytes of a shard file lie, shared by its reader and its writer; docs/formats/shards.md is
// the page. A shard is a header, records without gaps, an index with one entry a record, a footer.
//
// A record holds the components of one element: first words of 8 bytes, for every component its
// dimensions that the spec leaves open and, for bytes, the length of every string; then the values,
// numbers at multiples of 64 bytes (of 8 where a component has less than 64).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <stoker/tensor.h>

namespace stoker {

inline constexpr size_t kShardAlignment = 64;
inline constexpr std::array<char, 8> kShardMagic = {'S', 'T', 'K', 'S', 'H', 'A', 'R', 'D'};
inline constexpr std::array<char, 8> kShardEndMagic = {'S', 'T', 'K', 'I', 'N', 'D', 'E', 'X'};
inline constexpr uint32_t kShardVersion = 1;

struct ShardHeader {
  std::array<char, 8> magic = kShardMagic;
  uint32_t version = kShardVersion;
  uint32_t number = 0;  // of this shard, from 0
  std::array<uint8_t, 48> zeros{};
  friend bool operator==(const ShardHeader&, const ShardHeader&) = default;
};
static_assert(sizeof(ShardHeader) == kShardAlignment);

struct ShardIndexEntry {
  uint64_t element = 0;
  uint64_t offset = 0, bytes = 0;  // of the record in the file, with the padding behind it
  uint32_t crc = 0;                // of these bytes
  uint32_t zero = 0;
};
static_assert(sizeof(ShardIndexEntry) == 32);

struct ShardFooter {
  uint64_t index_offset = 0;
  uint64_t records = 0;
  uint32_t index_crc = 0;
  uint32_t crc = 0;  // of the header and of this up to here
  std::array<char, 8> magic = kShardEndMagic;
};
static_assert(sizeof(ShardFooter) == 32);

uint32_t footer_crc(const ShardHeader& header, const ShardFooter& footer);

// What records begin at multiples of: 64, or 8 where no component can have 64 bytes.
size_t record_alignment(std::span<const TensorSpec> spec);

inline constexpr uint64_t align_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

// Where the values of a component of numbers begin that would follow at `position`.
inline constexpr uint64_t align_values(uint64_t position, uint64_t bytes) {
  return align_up(position, bytes >= kShardAlignment ? kShardAlignment : 8);
}

// A component inside a record.
struct ShardComponent {
  TensorSpec spec;
  const std::byte* data = nullptr;  // numbers
  size_t first_string = 0;          // bytes: shape.elements() of the strings begin here
};

// Trusts nothing in the record. The views point into it. ValueError when it is not a record of that
// spec, to its last byte. The vectors are filled anew.
void parse_record(std::span<const std::byte> record, std::span<const TensorSpec> spec,
                  std::vector<ShardComponent>& components, std::vector<std::string_view>& strings);

// "data-0003-00012.shard" names shard 12 of the third set of shards in that directory.
struct ShardName {
  uint32_t generation = 0, number = 0;
};
std::string make_shard_name(ShardName name);
bool parse_shard_name(std::string_view text, ShardName& name);

}  // namespace stoker
