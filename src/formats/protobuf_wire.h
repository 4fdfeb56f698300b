// The wire format of Protocol Buffers, without schemas: a message is a list of numbered fields, and
// who reads it knows what they mean. https://protobuf.dev/programming-guides/encoding
//
// Messages are not trusted: whatever they hold, reading ends in fields or in a ValueError that
// gives the place in the message. Nothing is copied; views live as long as the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stoker {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, group = 3, fixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;                     // varint, fixed32 and fixed64
  std::span<const std::byte> bytes = {};  // bytes and group: what is inside

  bool is(uint32_t wanted, WireType wanted_type) const {
    return number == wanted && type == wanted_type;
  }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// Walks over the fields of one message in the order they stand in.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> message) : message_(message) {}

  bool next(WireField& field);  // false at the end
  size_t position() const { return position_; }

  // The next value of a packed list of such; the message is the list.
  bool at_end() const { return position_ == message_.size(); }
  uint64_t varint();
  uint32_t fixed32();
  uint64_t fixed64();

 private:
  uint64_t tag();
  std::span<const std::byte> take(uint64_t count);
  std::span<const std::byte> take_group(uint32_t number);

  std::span<const std::byte> message_;
  size_t position_ = 0;
};

// Makes a message, field by field.
class WireWriter {
 public:
  void varint(uint32_t field, uint64_t value);  // also int64: two's complement
  void fixed32(uint32_t field, uint32_t value);
  void fixed64(uint32_t field, uint64_t value);
  void floating(uint32_t field, float value);
  void floating(uint32_t field, double value);
  void bytes(uint32_t field, std::string_view value);  // strings, messages and packed lists
  void bytes_header(uint32_t field, uint64_t size);    // the same; `size` bytes follow elsewhere

  void bare_varint(uint64_t value);  // inside a packed list: without a field's tag

  const std::string& message() const { return message_; }

 private:
  template <class T>
  void raw(T value);

  std::string message_;
};

}  // namespace stoker
