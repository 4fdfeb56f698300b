// XPlane messages decode to what went in.
#include <gtest/gtest.h>

#include <array>

#include "base/file.h"
#include "formats/xplane.h"

namespace stoker {
namespace {

using Fields = std::vector<WireField>;

Fields fields_in(std::span<const std::byte> message) {
  Fields fields;
  WireReader reader(message);
  for (WireField field; reader.next(field);) fields.push_back(field);
  return fields;
}

// The only field of that number.
WireField only(std::span<const std::byte> message, uint32_t number) {
  WireField found;
  int count = 0;
  for (const WireField& field : fields_in(message))
    if (field.number == number) found = field, ++count;
  EXPECT_EQ(count, 1) << "field " << number;
  return found;
}

// id → name of one of a plane's two tables.
std::map<uint64_t, std::string> names_in(std::span<const std::byte> plane, uint32_t table) {
  std::map<uint64_t, std::string> result;
  for (const WireField& field : fields_in(plane))
    if (field.number == table) {
      WireField value = only(field.bytes, 2);
      EXPECT_EQ(only(field.bytes, 1).value, only(value.bytes, 1).value);
      result[only(value.bytes, 1).value] = only(value.bytes, 2).text();
    }
  return result;
}

TEST(XPlane, HoldsItsLinesEventsAndStats) {
  XPlaneWriter writer(7, "/host:CPU");
  writer.stat({"cores", int64_t(2)});
  writer.begin_line(3, "training", 1000);
  std::array<XStat, 2> stats{XStat{"step_num", int64_t(-1)},
                             XStat{"kernel", std::string_view("own")}};
  writer.event({.name = "train", .begin = 5, .end = 8, .stats = stats});
  writer.event({.name = "dense/matmul:matmul", .begin = 6, .end = 7});
  writer.begin_line(4, "compute", 1000);
  writer.event({.name = "train", .begin = 0, .end = 1});
  std::vector<std::string> planes{writer.finish()};
  std::string space = encode_xspace(planes, "here");

  WireField plane = only(as_bytes(space), 1);
  EXPECT_EQ(only(as_bytes(space), 4).text(), "here");
  EXPECT_EQ(only(plane.bytes, 1).value, 7U);
  EXPECT_EQ(only(plane.bytes, 2).text(), "/host:CPU");
  auto events = names_in(plane.bytes, 4), stat_names = names_in(plane.bytes, 5);
  EXPECT_EQ(events.size(), 2U);
  EXPECT_EQ(stat_names.size(), 3U);
  EXPECT_EQ(stat_names[only(only(plane.bytes, 6).bytes, 1).value], "cores");

  Fields lines;
  for (const WireField& field : fields_in(plane.bytes))
    if (field.number == 3) lines.push_back(field);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(only(lines[0].bytes, 2).text(), "training");
  EXPECT_EQ(only(lines[0].bytes, 3).value, 1000U);
  Fields inside;
  for (const WireField& field : fields_in(lines[0].bytes))
    if (field.number == 4) inside.push_back(field);
  ASSERT_EQ(inside.size(), 2U);
  EXPECT_EQ(events[only(inside[0].bytes, 1).value], "train");
  EXPECT_EQ(only(inside[0].bytes, 2).value, 5000U);  // picoseconds
  EXPECT_EQ(only(inside[0].bytes, 3).value, 3000U);
  std::vector<std::string> given;
  for (const WireField& field : fields_in(inside[0].bytes))
    if (field.number == 4) given.push_back(stat_names[only(field.bytes, 1).value]);
  EXPECT_EQ(given, (std::vector<std::string>{"step_num", "kernel"}));
  EXPECT_EQ(events[only(only(lines[1].bytes, 4).bytes, 1).value], "train");
}

}  // namespace
}  // namespace stoker
