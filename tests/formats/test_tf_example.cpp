#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stoker/error.h>
#include <stoker/random.h>

#include "base/file.h"
#include "formats/protobuf_wire.h"
#include "formats/tf_example.h"

namespace stoker {
namespace {

using Kind = ExampleFeature::Kind;

template <class T>
std::vector<T> values(const Example& example, std::string_view name) {
  const ExampleFeature* feature = example.find(name);
  if (feature == nullptr) throw ValueError("no feature " + std::string(name));
  std::vector<T> out(feature->count);
  feature->read(std::span(out));
  return out;
}

// With the record that it views.
struct Parsed : Example {
  explicit Parsed(std::string bytes) : record(std::move(bytes)) {
    parse(as_bytes(record), "a.tfrecord");
  }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;
  const std::string record;
};

Parsed parsed(const std::string& record) { return Parsed(record); }

std::string example_error(const std::string& record) {
  try {
    parsed(record);
  } catch (const FileError& error) {
    std::string text = error.what();
    EXPECT_EQ(text.find("a.tfrecord: not a tf.train.Example: "), 0U) << text;
    return text.substr(36);
  }
  return "no error";
}

std::string small_record() {
  ExampleWriter writer;
  writer.add("label", std::vector<int64_t>{7});
  writer.add("image/encoded", std::vector<std::string_view>{std::string_view("\xff\xd8\0", 3)});
  writer.add("box", std::vector<float>{0.5F, -1.25F, 3e38F});
  return writer.record();
}

std::string field(uint32_t number, std::string_view bytes) {
  WireWriter writer;
  writer.bytes(number, bytes);
  return writer.message();
}

// An example with one feature "x" that is this message.
std::string with_feature(std::string_view feature) {
  return field(1, field(1, field(1, "x") + field(2, feature)));
}

TEST(TFExample, WhatIsWrittenIsReadBack) {
  std::string record = small_record();
  Parsed example = parsed(record);
  ASSERT_EQ(example.features().size(), 3U);
  EXPECT_EQ(example.features()[0].name, "box");
  EXPECT_EQ(values<float>(example, "box"), (std::vector<float>{0.5F, -1.25F, 3e38F}));
  EXPECT_EQ(values<int64_t>(example, "label"), std::vector<int64_t>{7});
  EXPECT_EQ(values<std::string_view>(example, "image/encoded"),
            (std::vector<std::string_view>{std::string_view("\xff\xd8\0", 3)}));
  EXPECT_EQ(example.find("absent"), nullptr);
}

TEST(TFExample, LaysBytesOutAsTensorFlowDoes) {
  // tf.train.Example(features=tf.train.Features(feature={"a":
  //     tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 300, -1]))})).SerializeToString()
  ExampleWriter writer;
  writer.add("a", std::vector<int64_t>{1, 300, -1});
  EXPECT_EQ(writer.record(), std::string("\n\x18\n\x16\n\1a\x12\x11\x1a\x0f\n\r\1\xac\2") +
                                 std::string(9, '\xff') + "\1");
}

TEST(TFExample, ByteStringsAreViewsIntoTheRecord) {
  std::string record = small_record();
  Parsed example = parsed(record);
  auto images = values<std::string_view>(example, "image/encoded");
  EXPECT_GE(images[0].data(), example.record.data());
  EXPECT_LT(images[0].data(), example.record.data() + record.size());
}

TEST(TFExample, ExtremeIntegersSurvive) {
  std::vector<int64_t> extreme = {INT64_MIN, INT64_MAX, 0, -1, 127, 128};
  ExampleWriter writer;
  writer.add("x", extreme);
  EXPECT_EQ(values<int64_t>(parsed(writer.record()), "x"), extreme);
}

TEST(TFExample, MayBeEmptyInEveryWay) {
  EXPECT_TRUE(parsed("").features().empty());
  EXPECT_TRUE(parsed(field(1, "")).features().empty());
  Parsed nameless = parsed(field(1, field(1, "")));
  ASSERT_EQ(nameless.features().size(), 1U);
  EXPECT_EQ(nameless.features()[0].name, "");
  ExampleWriter writer;
  writer.add("none", std::vector<float>{});
  Parsed example = parsed(writer.record());
  EXPECT_EQ(example.find("none")->kind, Kind::floats);
  EXPECT_EQ(example.find("none")->count, 0U);
  Parsed without = parsed(with_feature(""));
  EXPECT_EQ(without.find("x")->kind, Kind::none);
  EXPECT_TRUE(values<int64_t>(without, "x").empty());
  EXPECT_TRUE(values<std::string_view>(without, "x").empty());
}

TEST(TFExample, ReadsListsThatAreNotPacked) {
  WireWriter integers, floats;
  for (int64_t value : {5, -6}) integers.varint(1, uint64_t(value));
  floats.floating(1, 1.5F);
  floats.bytes(1, std::string("\0\0\0\x40", 4));  // and packed after that: 2
  EXPECT_EQ(values<int64_t>(parsed(with_feature(field(3, integers.message()))), "x"),
            (std::vector<int64_t>{5, -6}));
  EXPECT_EQ(values<float>(parsed(with_feature(field(2, floats.message()))), "x"),
            (std::vector<float>{1.5F, 2}));
}

TEST(TFExample, TakesTheLastOfEqualNames) {
  ExampleWriter writer;
  writer.add("x", std::vector<int64_t>{1});
  writer.add("y", std::vector<int64_t>{2});
  writer.add("x", std::vector<float>{3});
  Parsed example = parsed(writer.record() + with_feature(field(3, field(1, "\4"))));
  EXPECT_EQ(example.features().size(), 2U);
  EXPECT_EQ(values<int64_t>(example, "x"), std::vector<int64_t>{4});
  EXPECT_EQ(values<int64_t>(example, "y"), std::vector<int64_t>{2});
}

TEST(TFExample, MergesAFeatureAsProtobufDoes) {
  // A oneof: the last kind counts, and equal kinds that follow each other are one list.
  std::string feature = field(3, field(1, "\1")) + field(1, field(1, "text")) +
                        field(3, field(1, "\2")) + field(3, field(1, "\3\4"));
  EXPECT_EQ(values<int64_t>(parsed(with_feature(feature)), "x"), (std::vector<int64_t>{2, 3, 4}));
}

TEST(TFExample, SkipsFieldsItDoesNotKnow) {
  WireWriter unknown;
  unknown.varint(9, 1);
  unknown.fixed32(10, 2);
  unknown.fixed64(11, 3);
  unknown.bytes(12, "text");
  unknown.varint(1, 5);  // a known number of another type is unknown too
  std::string group = "\x6b" + unknown.message() + "\x7b\x7c" + "\x6c";  // group 13, 15 in it
  std::string other = unknown.message() + group;
  std::string record =
      other + field(1, other + field(1, other + field(1, "x") + field(2, other + field(2, ""))));
  EXPECT_EQ(parsed(record).find("x")->kind, Kind::floats);
}

TEST(TFExample, ReadingIntoTheWrongPlaceNamesTheFeature) {
  std::string record = small_record();
  Parsed example = parsed(record);
  std::vector<float> two(2);
  std::vector<int64_t> three(3);
  try {
    example.find("box")->read(std::span(two));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "feature \"box\": is a float_list of 3 values, not a float_list of 2");
  }
  EXPECT_THROW(example.find("box")->read(std::span(three)), ShapeError);
}

TEST(TFExample, RefusesWhatIsNotAMessage) {
  EXPECT_EQ(example_error("\x0a\x05"
                          "abc"),
            "5 bytes at 2 do not fit into a message of 5");
  EXPECT_EQ(example_error("\x0a"), "the message ends inside a number at 1");
  EXPECT_EQ(example_error(std::string(11, '\xff')), "the number at 0 has more than ten bytes");
  EXPECT_EQ(example_error(std::string("\0\0", 2)), "the tag 0x0 at 0 is not one of a field");
  EXPECT_EQ(example_error("\x0e"), "the tag 0xe at 0 is not one of a field");
  EXPECT_EQ(example_error("\x0c"), "a group ends at 0 that did not begin");
  EXPECT_EQ(example_error("\x0b\x14"), "group 1 is closed as group 2 at 1");
  EXPECT_EQ(example_error("\x0b"), "the message ends inside a number at 1");
  EXPECT_EQ(example_error(with_feature(field(2, field(1, "abc")))),
            "4 bytes at 0 do not fit into a message of 3");
  EXPECT_EQ(example_error(field(1, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
            "18446744073709551615 bytes at 11 do not fit into a message of 11");
}

TEST(TFExample, NestsGroupsUpToALimit) {
  EXPECT_EQ(example_error(std::string(100, '\x0b') + std::string(100, '\x0c')), "no error");
  EXPECT_EQ(example_error(std::string(101, '\x0b') + std::string(101, '\x0c')),
            "more than 100 groups in groups at 100");
  EXPECT_NE(example_error(std::string(1'000'000, '\x0b')), "no error");
}

// Reads all values of all features: what was parsed must be readable.
void read_everything(const Example& example) {
  for (const ExampleFeature& feature : example.features()) {
    std::vector<float> floats(feature.kind == Kind::floats ? feature.count : 0);
    std::vector<int64_t> integers(feature.kind == Kind::integers ? feature.count : 0);
    std::vector<std::string_view> strings(feature.kind == Kind::bytes ? feature.count : 0);
    if (feature.kind == Kind::floats) feature.read(std::span(floats));
    if (feature.kind == Kind::integers) feature.read(std::span(integers));
    if (feature.kind == Kind::bytes) feature.read(std::span(strings));
  }
}

TEST(TFExample, CutOffAnywhereOrWithAnyBitFlippedIsReadOrRefused) {
  std::string whole = small_record();
  int refused = 0;
  for (size_t length = 0; length < whole.size(); ++length)
    if (example_error(whole.substr(0, length)) != "no error") ++refused;
  EXPECT_EQ(refused, int(whole.size()) - 1);  // of nothing, an empty example
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] ^= char(1 << bit % 8);
    if (example_error(bytes) == "no error") read_everything(parsed(bytes));
  }
}

}  // namespace
}  // namespace stoker
