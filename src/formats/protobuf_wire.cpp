#include "formats/protobuf_wire.h"

#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

constexpr size_t kMaxDepth = 100;  // of groups in groups; the limit of Google's own readers
constexpr int kEndGroup = 4;

template <class T>
T load(std::span<const std::byte> from) {
  T value;
  std::memcpy(&value, from.data(), sizeof(value));
  return value;
}

uint64_t make_tag(uint32_t field, WireType type) { return uint64_t(field) << 3 | uint64_t(type); }

}  // namespace

uint64_t WireReader::varint() {
  uint64_t value = 0;
  for (size_t count = 0; count < 10; ++count) {
    if (position_ + count >= message_.size())
      throw ValueError(fmt::format("the message ends inside a number at {}", position_));
    auto byte = uint64_t(message_[position_ + count]);
    value |= (byte & 0x7f) << 7 * count;
    if (byte < 0x80) {
      position_ += count + 1;
      return value;
    }
  }
  throw ValueError(fmt::format("the number at {} has more than ten bytes", position_));
}

uint32_t WireReader::fixed32() { return load<uint32_t>(take(4)); }
uint64_t WireReader::fixed64() { return load<uint64_t>(take(8)); }

std::span<const std::byte> WireReader::take(uint64_t count) {
  if (count > message_.size() - position_)
    throw ValueError(fmt::format("{} bytes at {} do not fit into a message of {}", count, position_,
                                 message_.size()));
  auto taken = message_.subspan(position_, size_t(count));
  position_ += size_t(count);
  return taken;
}

uint64_t WireReader::tag() {
  size_t place = position_;
  uint64_t tag = varint();
  if (tag > UINT32_MAX || tag >> 3 == 0 || (tag & 7) > 5)
    throw ValueError(fmt::format("the tag {:#x} at {} is not one of a field", tag, place));
  return tag;
}

// Up to the end of the group, which is passed. Groups inside are walked through without recursion.
std::span<const std::byte> WireReader::take_group(uint32_t number) {
  std::array<uint32_t, kMaxDepth> open{};
  size_t depth = 0, begin = position_;
  open[depth++] = number;
  while (true) {
    size_t end = position_;
    uint64_t tag = this->tag();
    auto field = uint32_t(tag >> 3);
    switch (tag & 7) {
      case uint64_t(WireType::varint):
        varint();
        break;
      case uint64_t(WireType::fixed64):
        take(8);
        break;
      case uint64_t(WireType::bytes):
        take(varint());
        break;
      case uint64_t(WireType::group):
        if (depth == kMaxDepth)
          throw ValueError(fmt::format("more than {} groups in groups at {}", kMaxDepth, end));
        open[depth++] = field;
        break;
      case uint64_t(WireType::fixed32):
        take(4);
        break;
      default:
        if (open[--depth] != field)
          throw ValueError(
              fmt::format("group {} is closed as group {} at {}", open[depth], field, end));
        if (depth == 0) return message_.subspan(begin, end - begin);
    }
  }
}

bool WireReader::next(WireField& field) {
  if (at_end()) return false;
  size_t place = position_;
  uint64_t tag = this->tag();
  if ((tag & 7) == kEndGroup)
    throw ValueError(fmt::format("a group ends at {} that did not begin", place));
  field = {.number = uint32_t(tag >> 3), .type = WireType(tag & 7)};
  switch (field.type) {
    case WireType::varint:
      field.value = varint();
      break;
    case WireType::fixed64:
      field.value = fixed64();
      break;
    case WireType::bytes:
      field.bytes = take(varint());
      break;
    case WireType::group:
      field.bytes = take_group(field.number);
      break;
    case WireType::fixed32:
      field.value = fixed32();
      break;
  }
  return true;
}

template <class T>
void WireWriter::raw(T value) {
  message_.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void WireWriter::bare_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) message_.push_back(char(value | 0x80));
  message_.push_back(char(value));
}

void WireWriter::varint(uint32_t field, uint64_t value) {
  bare_varint(make_tag(field, WireType::varint));
  bare_varint(value);
}

void WireWriter::fixed32(uint32_t field, uint32_t value) {
  bare_varint(make_tag(field, WireType::fixed32));
  raw(value);
}

void WireWriter::fixed64(uint32_t field, uint64_t value) {
  bare_varint(make_tag(field, WireType::fixed64));
  raw(value);
}

void WireWriter::floating(uint32_t field, float value) {
  fixed32(field, std::bit_cast<uint32_t>(value));
}

void WireWriter::floating(uint32_t field, double value) {
  fixed64(field, std::bit_cast<uint64_t>(value));
}

void WireWriter::bytes_header(uint32_t field, uint64_t size) {
  bare_varint(make_tag(field, WireType::bytes));
  bare_varint(size);
}

void WireWriter::bytes(uint32_t field, std::string_view value) {
  bytes_header(field, value.size());
  message_.append(value);
}

}  // namespace stoker
