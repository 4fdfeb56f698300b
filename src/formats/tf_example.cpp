#include "formats/tf_example.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

// The messages, https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example:
//   Example   { Features features = 1; }
//   Features  { map<string, Feature> feature = 1; }      a map is a list of { key = 1; value = 2; }
//   Feature   { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }
//   *List     { repeated value = 1; }
constexpr uint32_t kFeatures = 1, kFeature = 1, kKey = 1, kValue = 2, kListValue = 1;
using Kind = ExampleFeature::Kind;

std::span<const std::byte> bytes_from(const WireReader& reader, size_t begin,
                                      std::span<const std::byte> message) {
  return message.subspan(begin, reader.position() - begin);
}

template <class Visit>
void visit_packed(const WireField& field, Kind kind, Visit visit) {
  WireReader values(field.bytes);
  while (!values.at_end()) visit(kind == Kind::floats ? values.fixed32() : values.varint());
}

// Calls visit(bits) for every number of a list, whether packed or not. Fields of other types are
// unknown fields, as everywhere in protobuf.
template <class Visit>
void visit_numbers(std::span<const std::byte> list, Kind kind, Visit visit) {
  WireType single = kind == Kind::floats ? WireType::fixed32 : WireType::varint;
  WireReader reader(list);
  for (WireField field; reader.next(field);) {
    if (field.is(kListValue, WireType::bytes)) visit_packed(field, kind, visit);
    if (field.is(kListValue, single)) visit(field.value);
  }
}

template <class Visit>
void visit_strings(std::span<const std::byte> list, Visit visit) {
  WireReader reader(list);
  for (WireField field; reader.next(field);)
    if (field.is(kListValue, WireType::bytes)) visit(field.text());
}

// A list that comes in several fields is their concatenation.
template <class Visit>
void visit_lists(std::span<const std::byte> feature, Kind kind, Visit visit) {
  WireReader reader(feature);
  for (WireField field; reader.next(field);)
    if (field.is(uint32_t(kind), WireType::bytes)) visit(field.bytes);
}

size_t count_values(std::span<const std::byte> feature, Kind kind) {
  size_t count = 0;
  visit_lists(feature, kind, [&](std::span<const std::byte> list) {
    if (kind == Kind::bytes)
      visit_strings(list, [&](std::string_view) { ++count; });
    else
      visit_numbers(list, kind, [&](uint64_t) { ++count; });
  });
  return count;
}

// Of the kinds in a oneof the last one counts, with all its fields since another kind was there.
ExampleFeature parse_feature(std::span<const std::byte> message) {
  ExampleFeature feature;
  WireReader reader(message);
  size_t first = 0, begin = 0;
  for (WireField field; reader.next(field); begin = reader.position()) {
    if (field.type != WireType::bytes || field.number > uint32_t(Kind::integers)) continue;
    if (feature.kind != Kind(field.number)) first = begin;
    feature.kind = Kind(field.number);
    feature.lists = bytes_from(reader, first, message);
  }
  feature.count = count_values(feature.lists, feature.kind);
  return feature;
}

ExampleFeature parse_entry(std::span<const std::byte> message) {
  std::string_view name;
  ExampleFeature feature;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.is(kKey, WireType::bytes)) name = field.text();
    if (field.is(kValue, WireType::bytes)) feature = parse_feature(field.bytes);
  }
  feature.name = name;
  return feature;
}

void check_read(const ExampleFeature& feature, Kind kind, size_t count) {
  if (feature.count != count || (feature.kind != kind && feature.kind != Kind::none))
    throw ShapeError(fmt::format("feature \"{}\": is a {} of {} values, not a {} of {}",
                                 feature.name, name(feature.kind), feature.count, name(kind),
                                 count));
}

template <class T, class Convert>
void read_numbers(const ExampleFeature& feature, Kind kind, std::span<T> out, Convert convert) {
  check_read(feature, kind, out.size());
  size_t next = 0;
  if (feature.kind != Kind::none)
    visit_lists(feature.lists, kind, [&](std::span<const std::byte> list) {
      visit_numbers(list, kind, [&](uint64_t bits) { out[next++] = convert(bits); });
    });
}

}  // namespace

std::string_view name(ExampleFeature::Kind kind) {
  switch (kind) {
    case Kind::bytes:
      return "bytes_list";
    case Kind::floats:
      return "float_list";
    case Kind::integers:
      return "int64_list";
    case Kind::none:
      break;
  }
  return "feature without a list";
}

void ExampleFeature::read(std::span<std::string_view> out) const {
  check_read(*this, Kind::bytes, out.size());
  size_t next = 0;
  if (kind != Kind::none)
    visit_lists(lists, kind, [&](std::span<const std::byte> list) {
      visit_strings(list, [&](std::string_view value) { out[next++] = value; });
    });
}

void ExampleFeature::read(std::span<float> out) const {
  read_numbers(*this, Kind::floats, out,
               [](uint64_t bits) { return std::bit_cast<float>(uint32_t(bits)); });
}

void ExampleFeature::read(std::span<int64_t> out) const {
  read_numbers(*this, Kind::integers, out, [](uint64_t bits) { return int64_t(bits); });
}

void Example::parse(std::span<const std::byte> record, std::string_view where) {
  features_.clear();
  try {
    WireReader example(record);
    for (WireField field; example.next(field);) {
      if (!field.is(kFeatures, WireType::bytes)) continue;
      WireReader entries(field.bytes);
      for (WireField entry; entries.next(entry);)
        if (entry.is(kFeature, WireType::bytes)) features_.push_back(parse_entry(entry.bytes));
    }
  } catch (const ValueError& error) {
    features_.clear();
    throw FileError(fmt::format("{}: not a tf.train.Example: {}", where, error.what()));
  }
  // Last wins: of equal names, sorted in their order, the last is kept.
  std::ranges::stable_sort(features_, {}, &ExampleFeature::name);
  auto kept = features_.begin();
  for (auto at = features_.begin(); at != features_.end(); ++at)
    if (at + 1 == features_.end() || (at + 1)->name != at->name) *kept++ = *at;
  features_.erase(kept, features_.end());
}

const ExampleFeature* Example::find(std::string_view name) const {
  auto at = std::ranges::lower_bound(features_, name, {}, &ExampleFeature::name);
  return at != features_.end() && at->name == name ? &*at : nullptr;
}

void ExampleWriter::add(std::string_view name, std::span<const std::string_view> values) {
  WireWriter list;
  for (std::string_view value : values) list.bytes(kListValue, value);
  add_feature(name, uint32_t(Kind::bytes), list.message());
}

void ExampleWriter::add(std::string_view name, std::span<const float> values) {
  WireWriter list;
  if (!values.empty())
    list.bytes(kListValue, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  add_feature(name, uint32_t(Kind::floats), list.message());
}

void ExampleWriter::add(std::string_view name, std::span<const int64_t> values) {
  WireWriter packed, list;
  for (int64_t value : values) packed.bare_varint(uint64_t(value));
  if (!values.empty()) list.bytes(kListValue, packed.message());
  add_feature(name, uint32_t(Kind::integers), list.message());
}

void ExampleWriter::add_feature(std::string_view name, uint32_t kind, const std::string& list) {
  WireWriter feature, entry;
  feature.bytes(kind, list);
  entry.bytes(kKey, name);
  entry.bytes(kValue, feature.message());
  features_.bytes(kFeature, entry.message());
}

std::string ExampleWriter::record() const {
  WireWriter example;
  example.bytes(kFeatures, features_.message());
  return example.message();
}

}  // namespace stoker
