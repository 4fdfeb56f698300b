#include <gtest/gtest.h>
#include <stoker/error.h>

#include "base/file.h"
#include "formats/crc32c.h"
#include "formats/json.h"
#include "formats/sealed_json.h"

namespace stoker {
namespace {

template <class Attempt>
std::string value_error(Attempt attempt) {
  try {
    attempt();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no ValueError";
}

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int level = 0; level < depth; ++level) text += open;
  for (int level = 0; level < depth; ++level) text += close;
  return text;
}

TEST(Json, IsReadUpToItsDepth) {
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth, "[", "]")));
  EXPECT_NO_THROW(parse_ordered_json(
      nested(kMaxJsonDepth - 1, "{\"a\":", "}").insert(size_t(5 * (kMaxJsonDepth - 1)), "[]")));
  for (int depth : {kMaxJsonDepth + 1, 100'000}) {
    EXPECT_EQ(value_error([&] { parse_json(nested(depth, "[", "]")); }),
              "nested more than 200 deep");
    EXPECT_EQ(value_error([&] { parse_ordered_json(nested(depth, "[{\"a\":", "}]")); }),
              "nested more than 200 deep");
    EXPECT_TRUE(try_parse_json(nested(depth, "[", "]")).is_discarded());
  }
}

TEST(Json, BracketsInTextsAreNoDepth) {
  EXPECT_NO_THROW(parse_json("\"" + std::string(1000, '[') + "\""));
}

// A quote in a comment must not hide what follows.
TEST(Json, CommentsHideNoDepth) {
  std::string text = "/* \" */ " + nested(100'000, "[", "]");
  EXPECT_EQ(value_error([&] { parse_json(text, JsonComments::allow); }),
            "nested more than 200 deep");
  EXPECT_EQ(parse_json("[1] // one", JsonComments::allow), nlohmann::json::array({1}));
  EXPECT_THROW(parse_json("[1] // one"), ValueError);
}

TEST(Json, WhatIsNotJsonIsSaidWithItsPlace) {
  std::string text = value_error([] { parse_json("{\n\"a\": \x1b}"); });
  EXPECT_NE(text.find("not JSON: "), std::string::npos) << text;
  EXPECT_NE(text.find("line 2"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

TEST(Json, ATextThatIsNotUtf8IsNamed) {
  EXPECT_EQ(value_error([] {
              dump_json(nlohmann::json{{"job", {{"data", "ph\xe9tos"}}}});
            }),
            "job: data: \"ph\\xe9tos\" is not UTF-8, which a file of JSON has to be; rename it");
  EXPECT_EQ(value_error([] {
              seal_json(nlohmann::ordered_json{{"name\xff", 1}});
            }),
            "\"name\\xff\" is not UTF-8, which a file of JSON has to be; rename it");
  EXPECT_EQ(dump_report("a\xff"), "\"a\xef\xbf\xbd\"");
}

TEST(Json, ASealedTextIsBoundedToo) {
  std::string text = "{\"a\":" + nested(100'000, "[", "]");
  text += ",\"crc32c\":\"" + crc_to_hex(crc32c(as_bytes(text))) + "\"}\n";
  EXPECT_EQ(value_error([&] { open_sealed_json(text); }), "nested more than 200 deep");
}

}  // namespace
}  // namespace stoker
