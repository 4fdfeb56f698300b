// tf.train.Example, what the records of most TFRecord files hold: features by name, each a list of
// byte strings, floats or int64. Read in place: names and byte strings are views into the record,
// numbers are decoded where the caller wants them.
//
// Records are not trusted: whatever they hold, parsing ends in features or in one FileError, and
// reading from features that were parsed does not fail. Takes no memory beyond one entry a feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/protobuf_wire.h"

namespace stoker {

struct ExampleFeature {
  enum class Kind : uint8_t { none, bytes, floats, integers };  // none: a feature without a list

  std::string_view name;
  Kind kind = Kind::none;
  size_t count = 0;  // values in the list

  // The values in their order. ShapeError, with the feature's name, unless `out` is as long as the
  // list and of its kind (none: any kind, no values).
  void read(std::span<std::string_view> out) const;  // into the record
  void read(std::span<float> out) const;
  void read(std::span<int64_t> out) const;

  std::span<const std::byte> lists =
      {};  // where they stand: fields of the message tf.train.Feature
};

std::string_view name(ExampleFeature::Kind kind);  // "bytes_list", …

class Example {
 public:
  // The record must stay as long as this is used. `where` stands before error messages: a path, a
  // record. May be called again, which keeps the memory.
  void parse(std::span<const std::byte> record, std::string_view where);

  // Sorted by name; where a name comes twice in the record, its last feature.
  const std::vector<ExampleFeature>& features() const { return features_; }
  const ExampleFeature* find(std::string_view name) const;  // nullptr when there is none

 private:
  std::vector<ExampleFeature> features_;  // sorted by name
};

// Writes one, as TensorFlow does: numbers packed, features in the order they were added in.
class ExampleWriter {
 public:
  void add(std::string_view name, std::span<const std::string_view> values);
  void add(std::string_view name, std::span<const float> values);
  void add(std::string_view name, std::span<const int64_t> values);
  std::string record() const;

 private:
  void add_feature(std::string_view name, uint32_t kind, const std::string& list);

  WireWriter features_;
};

}  // namespace stoker
