#include "base/fields.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

namespace stoker {

namespace fields_test {

enum class Way { up, down };

struct Common {
  std::string name = "";
};

struct Options : Common {
  int64_t units = 0;
  double rate = 0.5;
  bool bias = true;
  std::string padding = "valid";
  std::optional<double> limit = {};
  std::optional<int> axis = -1;
  std::vector<int64_t> shared = {};
  std::vector<double> values = {1, 2};
  Shape shape = {};
  DType dtype = DType::float32;
  Way way = Way::up;
};

}  // namespace fields_test

template <>
struct FieldType<fields_test::Way> : EnumField<FieldType<fields_test::Way>, fields_test::Way> {
  static constexpr std::array<std::string_view, 2> kNames = {"up", "down"};
};

namespace {

using fields_test::Options;
using fields_test::Way;

const Fields<Options>& table() {
  static const Fields<Options> fields = {
      {"units", &Options::units, {.check = at_least(1), .required = true}},
      {"rate", &Options::rate, in_half_open(0, 1)},
      {"bias", &Options::bias},
      {"padding", &Options::padding, one_of({"valid", "same"})},
      {"limit", &Options::limit, above(0).or_infinite()},
      {"axis", &Options::axis},
      {"shared", &Options::shared, at_least(1)},
      {"values", &Options::values},
      {"shape", &Options::shape},
      {"dtype", &Options::dtype},
      {"way", &Options::way},
      {"name", &Options::name}};
  return fields;
}

std::string problem(const Options& options) {
  try {
    table().check("Thing \"t\"", options);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}

std::string reading(const Attrs& attrs) {
  try {
    Options options;
    table().read("Thing", attrs, options, std::array<std::string_view, 1>{"trainable"});
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}

TEST(Fields, ComeBackFromAConfigurationAsTheyWere) {
  Options options;
  options.units = 3;
  options.rate = 0.25;
  options.bias = false;
  options.padding = "same";
  options.limit = 6;
  options.axis = std::nullopt;
  options.shared = {1, 2};
  options.values = {};
  options.shape = {2, -1};
  options.dtype = DType::int32;
  options.way = Way::down;
  options.name = "t";
  Attrs attrs = table().write(options);
  EXPECT_EQ(to_string(attrs),
            "{units: 3, rate: 0.25, bias: false, padding: same, limit: 6, shared: [1, 2], values: "
            "[], shape: [2, -1], dtype: int32, way: down, name: t}");
  Options empty_axis;
  empty_axis.axis = std::nullopt;
  EXPECT_EQ(table().write(table().made("Thing", attrs, empty_axis)), attrs);
}

TEST(Fields, KeepTheStructsDefaultsForWhatIsAbsent) {
  Options options;
  table().read("Thing", {{"units", int64_t(1)}}, options);
  EXPECT_EQ(options.rate, 0.5);
  EXPECT_EQ(options.axis, -1);
  EXPECT_EQ(options.values, (Doubles{1, 2}));
}

TEST(Fields, TakeWholeNumbersForNumbersAndOneForAList) {
  Options options;
  table().read("Thing",
               {{"units", int64_t(1)},
                {"rate", int64_t(0)},
                {"values", Ints{3, 4}},
                {"shared", int64_t(2)},
                {"limit", int64_t(6)}},
               options);
  EXPECT_EQ(options.rate, 0);
  EXPECT_EQ(options.values, (Doubles{3, 4}));
  EXPECT_EQ(options.shared, (Ints{2}));
  EXPECT_EQ(options.limit, 6);
}

TEST(Fields, RefuseWhatIsUnknownMistypedOrMissing) {
  EXPECT_EQ(reading({{"units", int64_t(1)}, {"unit", int64_t(1)}}),
            "Thing: unknown option \"unit\"; there are units, rate, bias, padding, limit, axis, "
            "shared, values, shape, dtype, way, name");
  EXPECT_EQ(reading({{"units", std::string("three")}}),
            "Thing: wrong type of option \"units\": expected a whole number, got {units: three}");
  EXPECT_EQ(reading({{"units", int64_t(1)}, {"axis", int64_t(1) << 40}}),
            "Thing: wrong type of option \"axis\": expected a whole number, got {axis: "
            "1099511627776}");
  EXPECT_EQ(reading({{"rate", 0.5}}), "Thing: option \"units\" is missing");
  EXPECT_EQ(reading({{"units", int64_t(1)}, {"trainable", false}}), "");
  EXPECT_NE(reading({{"units", int64_t(1)}, {"units.part", int64_t(1)}}), "");  // has no parts
  EXPECT_TRUE(reading({{"units", int64_t(1)}, {"dtype", std::string("int7")}})
                  .starts_with("Thing: dtype: "));
  EXPECT_NE(reading({{"units", int64_t(1)}, {"way", std::string("left")}}), "");
}

TEST(Fields, CheckValuesAndSayWhichOne) {
  Options good;
  good.units = 1;
  EXPECT_EQ(problem(good), "");
  auto with = [&](auto change) {
    Options options = good;
    change(options);
    return problem(options);
  };
  EXPECT_EQ(with([](Options& o) { o.units = 0; }), "Thing \"t\": units must be at least 1, got 0");
  EXPECT_EQ(with([](Options& o) { o.rate = 1; }),
            "Thing \"t\": rate must be a number in [0, 1), got 1");
  EXPECT_EQ(with([](Options& o) { o.padding = "sme"; }),
            "Thing \"t\": padding must be \"valid\" or \"same\", got \"sme\"");
  EXPECT_EQ(with([](Options& o) { o.limit = -1; }), "Thing \"t\": limit must be above 0, got -1");
  EXPECT_EQ(with([](Options& o) {
              o.shared = {1, 0};
            }),
            "Thing \"t\": shared must be at least 1, got {1, 0}");
}

TEST(Fields, LetNoNaNPassAndInfinityOnlyWhereItIsMeant) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Options options;
  options.units = 1;
  options.limit = kInfinite;
  EXPECT_EQ(problem(options), "");
  options.limit = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(problem(options), "");
  EXPECT_FALSE(at_least(0).or_infinite().number(-kInfinite));
  EXPECT_FALSE(at_least(0).number(kInfinite));
  EXPECT_FALSE(above(0).number(kInfinite));
  EXPECT_TRUE(between(0, 1).number(1));
  EXPECT_FALSE(in_open(0, 1).number(0));
}

TEST(Fields, CheckNumbersAgainstAListAndListsForBeingEmpty) {
  struct Part {
    int channels = 3;
    std::vector<int64_t> axes = {1};
    std::string separator = ",";
  };
  Fields<Part> fields = {{"channels", &Part::channels, one_of({"0", "1", "3"})},
                         {"axes", &Part::axes, not_empty()},
                         {"separator", &Part::separator, not_empty()}};
  auto problem_of = [&](const Part& part) -> std::string {
    try {
      fields.check("Part", part);
    } catch (const ValueError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(problem_of({}), "");
  EXPECT_EQ(problem_of({.channels = 2}), "Part: channels must be 0, 1 or 3, got 2");
  EXPECT_EQ(problem_of({.axes = {}}), "Part: axes must be non-empty, got {}");
  EXPECT_EQ(problem_of({.separator = ""}), "Part: separator must be non-empty, got \"\"");
}

TEST(Fields, LeaveOutASparseOptionThatIsTheDefault) {
  struct Part {
    std::vector<double> mean = {};
  };
  Fields<Part> fields = {{"mean", &Part::mean, {.sparse = true}}};
  EXPECT_EQ(to_string(fields.write({})), "{}");
  EXPECT_EQ(to_string(fields.write({.mean = {1}})), "{mean: [1]}");
}

TEST(Fields, ArePutTogetherFromParts) {
  struct Part {
    int64_t a = 1, b = 2;
  };
  Fields<Part> first = {{"a", &Part::a}}, second = {{"b", &Part::b}};
  EXPECT_EQ(to_string(first.then(second).write({})), "{a: 1, b: 2}");
}

TEST(Fields, DescribeThemselvesForTheReference) {
  std::vector<FieldText> text = table().text();
  EXPECT_EQ(text[0].expected, "at least 1");
  EXPECT_TRUE(text[0].required);
  EXPECT_EQ(text[1].fallback, "0.5");
  EXPECT_EQ(text[3].fallback, "\"valid\"");
  EXPECT_EQ(text[4].fallback, "none");
}

}  // namespace
}  // namespace stoker
