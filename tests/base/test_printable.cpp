#include <gtest/gtest.h>

#include "base/printable.h"

namespace stoker {
namespace {

TEST(Printable, LeavesTextInAnyLanguage) {
  for (const char* text : {"", "cat", "naïve café", "日本語", "😀", "a\\b"}) {
    EXPECT_TRUE(is_utf8(text));
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b[2Jcat\x07"), "\\x1b[2Jcat\\x07");
  EXPECT_EQ(printable("a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u{9b}");  // the eight-bit form of "ESC ["
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u{202e}b");  // turns what follows around
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, ShowsBytesThatAreNotUtf8) {
  for (const char* text : {"\xe9", "a\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                           "\xe2\x82", "\x80", "\xe0\x80\xaf"})
    EXPECT_FALSE(is_utf8(text));
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
}

TEST(Printable, KeepsTheLinesOfAMessage) {
  EXPECT_EQ(printable_lines("one\n\ttwo\x1b[0m\r\n"), "one\n\ttwo\\x1b[0m\\r\n");
}

}  // namespace
}  // namespace stoker
