#include "formats/csv.h"

#include <gtest/gtest.h>
#include <stoker/error.h>
#include <stoker/random.h>

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/memory_file.h"
#include "formats/number_text.h"
#include "support/deflate.h"

namespace stoker {
namespace {

using Texts = std::vector<std::string>;

Texts records_of(const std::string& text, const CsvReadOptions& options = {}) {
  MemoryFile file("a.csv", as_bytes(text));
  CsvReader reader(file, options);
  Texts records;
  while (auto record = reader.next()) records.emplace_back(*record);
  return records;
}

Texts fields_of(const std::string& record, const CsvFormat& format = {}) {
  CsvFields walk(record, format);
  Texts fields;
  while (auto field = walk.next()) fields.emplace_back(*field);
  return fields;
}

template <class F>
std::string csv_error(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CsvReader, GivesRecordsWithoutTheirLineEnds) {
  EXPECT_EQ(records_of("a,b\n1,2\r\n3,4"), (Texts{"a,b", "1,2", "3,4"}));
  EXPECT_EQ(records_of("\xEF\xBB\xBF"
                       "a\r\n\n\r\nb\n"),
            (Texts{"a", "b"}));
  EXPECT_EQ(records_of(""), Texts{});
  EXPECT_EQ(records_of("\n\n"), Texts{});
  EXPECT_EQ(records_of("a\r"), Texts{"a"});
}

TEST(CsvReader, KeepsLineEndsInQuotesAtAnySizeOfTheBuffer) {
  std::string text = "\"one\ntwo\",x\n\"say \"\"hi\n\"\"\",y\nlast \" quote,z\n";
  Texts expected{"\"one\ntwo\",x", "\"say \"\"hi\n\"\"\",y", "last \" quote,z"};
  for (size_t bytes = 1; bytes < 40; ++bytes)
    EXPECT_EQ(records_of(text, {.buffer_bytes = bytes}), expected) << bytes;
  EXPECT_EQ(records_of(test::gzip(text)), expected);
}

TEST(CsvReader, PassesOverCommentsAndTheHeader) {
  CsvReadOptions options{.format = {.comment = '#'}, .skip_first = true};
  EXPECT_EQ(records_of("# it's \"open\nname\n#\n1\n2 # no comment\n#", options),
            (Texts{"1", "2 # no comment"}));
}

TEST(CsvReader, SaysWhereARecordIsBroken) {
  EXPECT_EQ(csv_error([] { records_of("a\nb\nc,\"open\n\n"); }),
            "a.csv: line 3: a quoted field is not closed; give use_quote_delim = false if quotes "
            "are ordinary text");
  EXPECT_NE(csv_error([] {
              records_of("a\n" + std::string(50, 'b'), {.most_record_bytes = 20});
            }).find("a.csv: line 2: the record is longer than 20 bytes"),
            std::string::npos);
  EXPECT_EQ(records_of("\"a,b\n", {.format = {.quote = '\0'}}), Texts{"\"a,b"});
}

TEST(CsvIndex, LeadsToTheSameRecordsAndLines) {
  std::string text = "h1,h2\n";
  for (int row = 0; row < 900; ++row)
    text += fmt::format("{},\"{}\"\n{}", row, std::string(size_t(row % 7), '\n'),
                        row % 50 == 0 ? "\n# note\n" : "");
  CsvReadOptions options{.format = {.comment = '#'}, .skip_first = true};
  Texts all = records_of(text, options);
  MemoryFile file("a.csv", as_bytes(text));
  RecordIndex index = index_csv(file, options);
  ASSERT_EQ(index.records(), 900U);
  EXPECT_GT(index.blocks(), 1U);
  std::string block;
  std::vector<std::string_view> cut;
  for (size_t number = 0; number < index.blocks(); ++number) {
    index.read(file, number, block);
    cut_csv(block, options.format, cut);
    uint64_t first = index.first_record(number);
    for (size_t i = 0; i < cut.size(); ++i) ASSERT_EQ(cut[i], all[size_t(first) + i]);
    size_t at = text.find("\n" + std::string(all[size_t(first)])) + 1;
    EXPECT_EQ(index.first_line(number),
              uint64_t(std::count(text.begin(), text.begin() + long(at), '\n')));
  }
}

// Lines are counted where each is a record, and walked over where a comment could stand.
TEST(CsvIndex, IsTheSameWhetherLinesAreCountedOrRead) {
  std::string plain, mixed;
  for (int row = 0; row < 3000; ++row) {
    std::string line = fmt::format("{},{}\n", row, std::string(size_t(row % 41), 'x'));
    plain += line;
    mixed += row % 700 == 3 ? "\"a\nb\",1\n\n" : row % 900 == 5 ? "crlf,2\r\n\r\n" : line;
  }
  std::string long_line(9000, 'y');
  for (const std::string& text :
       {plain, plain + "no end", mixed, "\n\n" + mixed, plain + long_line + "\n" + plain,
        "\xEF\xBB\xBF" + plain, std::string("\n"), std::string("a"), std::string()})
    for (size_t buffer : {size_t(64), size_t(1000), size_t(1) << 18}) {
      SCOPED_TRACE(fmt::format("{} bytes, {} at a time", text.size(), buffer));
      MemoryFile file("a.csv", as_bytes(text));
      for (bool skip : {false, true}) {
        CsvReadOptions counted{.skip_first = skip, .buffer_bytes = buffer}, read = counted;
        read.format.comment = '\x01';
        RecordIndex a = index_csv(file, counted), b = index_csv(file, read);
        ASSERT_EQ(a.records(), b.records());
        ASSERT_EQ(a.blocks(), b.blocks());
        for (size_t block = 0; block < a.blocks(); ++block) {
          ASSERT_EQ(a.first_record(block), b.first_record(block));
          ASSERT_EQ(a.first_line(block), b.first_line(block));
          ASSERT_EQ(a.bytes(block), b.bytes(block));
        }
      }
    }
}

// Texts in which a line end may stand anywhere.
std::string random_table(Rng& rng) {
  std::string text;
  for (int64_t field = rng.integer(0, 400); field > 0; --field) {
    int64_t kind = rng.integer(0, 40);
    text += kind == 0   ? "\n"
            : kind == 1 ? "#a \"comment\n"
            : kind == 2 ? "a\"b"
            : kind < 6  ? "\"a\n\"\"b,\r\n\""
            : kind < 10 ? "\"q,\"\"x\""
                        : std::string(size_t(rng.integer(0, 12)), '5');
    text += rng.integer(0, 4) > 0 ? "," : rng.integer(0, 9) == 0 ? "\r\n" : "\n";
  }
  return text;
}

TEST(CsvIndex, InPiecesLeadsToTheRecordsAndLinesOfAWalk) {
  Rng rng(8);
  for (int round = 0; round < 300; ++round) {
    std::string text = random_table(rng);
    if (round % 7 == 0) text += "\"" + std::string(3000, '\n') + "\",1\n2,3";
    MemoryFile file("a.csv", as_bytes(text));
    CsvReadOptions options{.format = {.comment = round % 2 == 0 ? '#' : '\0'},
                           .skip_first = round % 3 == 0,
                           .buffer_bytes = size_t(rng.integer(1, 300)),
                           .piece_bytes = uint64_t(rng.integer(1, 500))};
    std::vector<std::string> expected;
    std::vector<uint64_t> lines;
    CsvReader walk(file, options);
    while (auto record = walk.next()) {
      expected.emplace_back(*record);
      lines.push_back(walk.line() - 1);
    }
    RecordIndex index = index_csv(file, options);
    ASSERT_EQ(index.records(), expected.size()) << text;
    std::string block;
    std::vector<std::string_view> records;
    for (size_t number = 0; number < index.blocks(); ++number) {
      index.read(file, number, block);
      cut_csv(block, options.format, records);
      size_t first = index.first_record(number);
      for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(records[i], expected[first + i]);
      if (!records.empty()) {
        ASSERT_EQ(index.first_line(number), lines[first]);
      }
    }
  }
}

TEST(CsvIndex, InPiecesSaysTheLineOfABrokenRecord) {
  std::string text = "a,b\n";
  for (int row = 0; row < 500; ++row) text += "1,\"x\ny\"\n";
  text += "2,\"never closed\n";
  MemoryFile file("a.csv", as_bytes(text));
  for (uint64_t piece : {1, 10, 333, 1 << 20}) {
    try {
      index_csv(file, {.piece_bytes = piece});
      FAIL() << "no error";
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("line 1002: a quoted field is not closed"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(CsvFields, UndoQuotes) {
  EXPECT_EQ(fields_of("a,b,"), (Texts{"a", "b", ""}));
  EXPECT_EQ(fields_of(""), Texts{""});
  EXPECT_EQ(fields_of("\"a,\"\"b\"\"\nc\",5\" pipe,\"\""), (Texts{"a,\"b\"\nc", "5\" pipe", ""}));
  EXPECT_EQ(fields_of("a;b", {.delimiter = ';'}), (Texts{"a", "b"}));
  EXPECT_EQ(fields_of("\"a\",\"b", {.quote = '\0'}), (Texts{"\"a\"", "\"b"}));
  EXPECT_NE(csv_error([] { fields_of("\"a\"b,c"); }).find("followed by \"b,c\""),
            std::string::npos);
  EXPECT_NE(csv_error([] { fields_of("\"a"); }).find("not closed"), std::string::npos);
}

TEST(CsvField, ComesBackAsItWas) {
  for (const char* text : {"", "plain", "a,b", "say \"x\"", "two\nlines", "\r"}) {
    std::string written = csv_field(text) + ",end";
    EXPECT_EQ(fields_of(written), (Texts{text, "end"}));
  }
}

void expect_as_strtof(const std::string& text) {
  float value = -1;
  const char* behind = parse_float(text.data(), text.data() + text.size(), value);
  ASSERT_EQ(behind, text.data() + text.size()) << text;
  float expected = std::strtof(text.c_str(), nullptr);
  EXPECT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << text;
}

TEST(ParseFloat, RoundsAsStrtofDoes) {
  for (const char* text : {"0",
                           "-0",
                           "-0.0",
                           "1",
                           "16777217",
                           "16777217.0000001",
                           "33554433",
                           "0.1",
                           ".5",
                           "5.",
                           "1e10",
                           "1E-3",
                           "3.4028235e38",
                           "1e-45",
                           "1.17549435e-38",
                           "9007199254740993",
                           "123456789012345678901234567890",
                           "0.00000000000000000000000000000001234",
                           "1e-60",
                           "16777216.9999999",
                           "8388609.5",
                           "8388608.5",
                           "-7.038531e-26",
                           "4e-400"})
    expect_as_strtof(text);
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    auto bits = uint32_t(rng.integer(0, int64_t(1) << 32));
    auto number = std::bit_cast<float>(bits);
    if (!std::isfinite(number)) continue;
    expect_as_strtof(fmt::format("{:.{}f}", double(number) * 1e-3, i % 9));
    expect_as_strtof(fmt::format("{:.{}e}", double(number), i % 18));
    expect_as_strtof(fmt::format("{}", float(rng.normal())));
    // Numbers of few digits, on both sides of what a float holds exactly.
    expect_as_strtof(fmt::format("{:.{}f}", double(rng.normal()) * 20, i % 12));
    // And of as many as a double is written with, near what lies between two floats and elsewhere.
    expect_as_strtof(fmt::format("{}", double(rng.normal())));
    float near = std::abs(float(rng.normal()));
    double between = (double(near) + double(std::nextafter(near, 2 * near))) / 2;
    expect_as_strtof(fmt::format("{:.{}f}", between, i % 20));
    expect_as_strtof(fmt::format("{:.18f}", std::nextafter(between, i % 2 == 0 ? 0 : 9)));
  }
}

TEST(ParseFloat, RefusesWhatIsNoNumberOrTooLarge) {
  for (const char* text : {"", "-", ".", "e5", "+-1", "abc", "1e39", "-1e400"}) {
    float value = 0;
    std::string_view view(text);
    EXPECT_EQ(parse_float(view.data(), view.data() + view.size(), value), nullptr) << text;
  }
  float value = 0;
  std::string_view word = "nan";
  EXPECT_NE(parse_float(word.data(), word.data() + word.size(), value), nullptr);
  EXPECT_TRUE(std::isnan(value));
}

TEST(ParseInteger, HoldsItsLimits) {
  int64_t value = 0;
  std::string most = "9223372036854775807", more = "9223372036854775808", plus = "+7";
  EXPECT_NE(parse_integer(most.data(), most.data() + most.size(), value), nullptr);
  EXPECT_EQ(value, INT64_MAX);
  EXPECT_EQ(parse_integer(more.data(), more.data() + more.size(), value), nullptr);
  EXPECT_NE(parse_integer(plus.data(), plus.data() + plus.size(), value), nullptr);
  EXPECT_EQ(value, 7);
}

}  // namespace
}  // namespace stoker
