// The vector kernels of CSV beside the plain code, in every instruction set of this host.
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stoker/random.h>

#include "base/isa.h"
#include "formats/csv.h"
#include "formats/number_text.h"

namespace stoker {
namespace {

using csv_scan::Kernels;
using csv_scan::NumberKind;
using csv_scan::NumberTarget;

std::vector<const Kernels*> kernels_of_host() {
  std::vector<const Kernels*> all;
  for (Isa isa : {Isa::avx2, Isa::avx512})
    if (isa <= processor_isa()) all.push_back(&csv_scan::kernels_of(isa));
  return all;
}

// One field at the end of memory, and in the middle of it.
template <class T>
bool takes(const Kernels& kernels, const std::string& field, NumberKind kind, T& value) {
  NumberTarget target{reinterpret_cast<char*>(&value), sizeof(T), kind};
  std::vector<char> exact(field.begin(), field.end());  // what follows is not ours
  csv_scan::RecordText record{exact.data(), exact.data() + exact.size(),
                              exact.data() + exact.size()};
  auto alone = kernels.numbers(record, ',', &target, 1, 0);
  T first = value;
  std::string longer = field + ",7,and much more text behind it";
  record = {longer.data(), longer.data() + longer.size(), longer.data() + longer.size()};
  auto among = kernels.numbers(record, ',', &target, 1, 0);
  if (field.size() < 16) {
    EXPECT_EQ(alone.fields, among.fields) << field;
  }
  if (among.fields == 1) {
    EXPECT_EQ(std::memcmp(&first, &value, sizeof value), 0) << field;
    EXPECT_EQ(among.next, longer.data() + field.size() + 1);
  }
  value = first;
  if (alone.fields == 0) return false;
  EXPECT_EQ(alone.next, exact.data() + exact.size() + 1);
  return true;
}

void expect_as_plain_code(const Kernels& kernels, const std::string& text) {
  const char* end = text.data() + text.size();
  float number = -1, expected = -2;
  if (takes(kernels, text, NumberKind::float32, number)) {
    ASSERT_EQ(parse_float(text.data(), end, expected), end) << text;
    EXPECT_EQ(std::bit_cast<uint32_t>(number), std::bit_cast<uint32_t>(expected)) << text;
  }
  int64_t whole = -1, expected_whole = -2;
  if (takes(kernels, text, NumberKind::int64, whole)) {
    ASSERT_EQ(parse_integer(text.data(), end, expected_whole), end) << text;
    EXPECT_EQ(whole, expected_whole) << text;
  }
}

TEST(CsvKernels, ReadNumbersAsThePlainCodeDoes) {
  Rng rng(3);
  for (const Kernels* kernels : kernels_of_host()) {
    for (const char* text : {"",
                             "-",
                             ".",
                             "-.",
                             "0",
                             "-0",
                             "-0.0",
                             "1.",
                             ".5",
                             "-.5",
                             "--1",
                             "1-",
                             "1.2.3",
                             "..",
                             "+1",
                             " 1",
                             "1 ",
                             "1e5",
                             "nan",
                             "inf",
                             "1_0",
                             "0x1",
                             "1/2",
                             "1:2",
                             "007",
                             "00.00700",
                             "16777217",
                             "33554433.5",
                             "999999999999999",
                             "-99999999999999",
                             "1234567890.12345",
                             "8388608.5",
                             "16777217.0000001",
                             "1234567890123456",
                             "12345678901234567",
                             "\x80",
                             "5\xB0"})
      expect_as_plain_code(*kernels, text);
    for (int i = 0; i < 200'000; ++i) {
      int64_t digits = rng.integer(1, 17);
      std::string text = rng.integer(0, 2) == 0 ? "-" : "";
      for (int64_t digit = 0; digit < digits; ++digit) text += char('0' + rng.integer(0, 10));
      if (rng.integer(0, 4) > 0)
        text.insert(size_t(rng.integer(text[0] == '-' ? 1 : 0, int64_t(text.size()) + 1)), ".");
      if (rng.integer(0, 20) == 0)
        text[size_t(rng.integer(0, int64_t(text.size())))] = char(rng.integer(1, 256));
      if (text.find(',') == std::string::npos) expect_as_plain_code(*kernels, text);
    }
  }
}

TEST(CsvKernels, TakeWhatIsPlain) {
  for (const Kernels* kernels : kernels_of_host()) {
    float number = 0;
    int64_t whole = 0;
    EXPECT_TRUE(takes(*kernels, "-3.141593", NumberKind::float32, number));
    EXPECT_TRUE(takes(*kernels, "-99999999999999", NumberKind::int64, whole));
    EXPECT_EQ(whole, -99999999999999);
    EXPECT_FALSE(takes(*kernels, "1.0", NumberKind::int64, whole));
  }
}

TEST(CsvKernels, StopAtTheFirstFieldThatIsNoNumber) {
  std::string record = "1,2.5,x,4";
  for (const Kernels* kernels : kernels_of_host()) {
    std::vector<float> values(8, -1);
    std::vector<NumberTarget> targets;
    for (size_t i = 0; i < 4; ++i)
      targets.push_back(
          {reinterpret_cast<char*>(&values[i]), 4 * sizeof(float), NumberKind::float32});
    csv_scan::RecordText text{record.data(), record.data() + record.size(),
                              record.data() + record.size()};
    auto taken = kernels->numbers(text, ',', targets.data(), targets.size(), 1);
    EXPECT_EQ(taken.fields, 2U);
    EXPECT_EQ(taken.next, record.data() + 6);
    EXPECT_EQ(values, (std::vector<float>{-1, -1, -1, -1, 1, 2.5F, -1, -1}));
    targets[1].kind = NumberKind::none;
    EXPECT_EQ(kernels->numbers(text, ',', targets.data(), targets.size(), 0).fields, 1U);
  }
}

// Numbers as they are written, and what looks like them.
std::string random_number(Rng& rng) {
  std::string text = rng.integer(0, 2) == 0 ? "-" : "";
  for (int64_t digit = rng.integer(0, rng.integer(0, 3) == 0 ? 33 : 17); digit > 0; --digit)
    text += char('0' + rng.integer(0, 10));
  if (rng.integer(0, 3) > 0) text.insert(size_t(rng.integer(0, int64_t(text.size()) + 1)), ".");
  if (rng.integer(0, 12) == 0 && !text.empty()) {
    const char other[] = {'.', '-', '+', ' ', 'e', '/', ':', '"', 'x', '\x80', '\xFD', '\xFE'};
    text[size_t(rng.integer(0, int64_t(text.size())))] = other[rng.integer(0, sizeof other)];
  }
  return text;
}

// A column of a table in memory that ends with it.
template <class T>
void expect_column_as_plain_code(const Kernels& kernels, NumberKind kind, Rng& rng) {
  auto rows = size_t(rng.integer(1, 12)), columns = size_t(rng.integer(1, 5));
  auto column = size_t(rng.integer(0, int64_t(columns)));
  std::vector<std::string> fields;
  std::vector<char> text;
  std::vector<uint32_t> ends{0xFFFFFFFFU};
  for (size_t field = 0; field < rows * columns; ++field) {
    fields.push_back(random_number(rng));
    text.insert(text.end(), fields.back().begin(), fields.back().end());
    ends.push_back(uint32_t(text.size()));
    if (field + 1 < rows * columns) text.push_back(',');
  }
  text.shrink_to_fit();
  size_t stride = size_t(rng.integer(1, 3));
  std::vector<T> values(rows * stride, T(-77));
  std::vector<uint32_t> others(rows);
  size_t count = kernels.column_numbers(
      {text.data(), text.data(), ends.data() + 1, columns, rows}, column,
      {reinterpret_cast<char*>(values.data()), stride * sizeof(T), kind}, others.data());
  others.resize(count);
  for (size_t row = 0; row < rows; ++row) {
    const std::string& field = fields[row * columns + column];
    T expected = 0;
    const char *end = field.data() + field.size(), *behind = nullptr;
    if constexpr (std::is_same_v<T, float>)
      behind = parse_float(field.data(), end, expected);
    else
      behind = parse_integer(field.data(), end, expected);
    if (std::find(others.begin(), others.end(), row) == others.end()) {
      ASSERT_EQ(behind, end) << field;
      ASSERT_EQ(std::memcmp(&values[row * stride], &expected, sizeof(T)), 0) << field;
    }
    for (size_t gap = 1; gap < stride; ++gap) ASSERT_EQ(values[row * stride + gap], T(-77));
  }
}

TEST(CsvKernels, ReadColumnsAsThePlainCodeDoes) {
  Rng rng(9);
  for (const Kernels* kernels : kernels_of_host())
    for (int round = 0; round < 10'000; ++round) {
      expect_column_as_plain_code<float>(*kernels, NumberKind::float32, rng);
      expect_column_as_plain_code<int64_t>(*kernels, NumberKind::int64, rng);
      if (HasFatalFailure()) return;
    }
}

TEST(CsvKernels, LeaveOutOfAColumnOnlyWhatIsNotPlain) {
  std::string text = "sixteen bytes...";
  std::vector<uint32_t> ends{0xFFFFFFFFU, uint32_t(text.size())};
  for (const char* field : {"1", "-2.5", "", "3", "x", "999999999999999", "-.5", "1.2.3", "4"}) {
    text += std::string(",") + field;
    ends.push_back(uint32_t(text.size()));
  }
  for (const Kernels* kernels : kernels_of_host()) {
    std::vector<float> values(10);
    std::vector<uint32_t> others(10);
    size_t count = kernels->column_numbers(
        {text.data(), text.data(), ends.data() + 1, 1, 10}, 0,
        {reinterpret_cast<char*>(values.data()), sizeof(float), NumberKind::float32},
        others.data());
    others.resize(count);
    // The first is too long, and so its neighbours are not looked at.
    EXPECT_EQ(others, (std::vector<uint32_t>{0, 1, 2, 3, 5, 8}));
    EXPECT_EQ(values[4], 3);
    EXPECT_EQ(values[6], 1e15F);
    EXPECT_EQ(values[7], -.5F);
    EXPECT_EQ(values[9], 4);
  }
}

// By the rules of formats/csv.h, byte by byte; false where it is not regular.
bool plain_field_ends(const std::string& text, char quote, bool returns,
                      std::vector<uint32_t>& ends) {
  bool inside = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char before = at == 0 ? '\n' : text[at - 1];
    if (text[at] == quote) {
      inside = !inside;
      if (inside && before != ',' && before != '\n' && before != quote) return false;
    }
    if (text[at] == '\r' && !inside && !returns) return false;
    if (!inside && (text[at] == '\r' || text[at] == '\n' || text[at] == ','))
      ends.push_back(uint32_t(at));
  }
  return !inside;
}

TEST(CsvKernels, FindTheEndsOfFields) {
  Rng rng(5);
  int regular = 0;
  for (const Kernels* kernels : kernels_of_host())
    for (int round = 0; round < 20'000; ++round) {
      std::string text;
      for (int64_t field = rng.integer(0, 40); field > 0; --field) {
        int64_t kind = rng.integer(0, 60);
        text += kind == 0   ? "\r"
                : kind == 1 ? "a\"b"
                : kind == 2 ? "\"open"
                : kind < 15 ? "\"q,\"\"x\n\""
                            : std::string(size_t(rng.integer(0, 12)), '5');
        text += rng.integer(0, 4) == 0 ? "\n" : rng.integer(0, 30) == 0 ? "\r\n" : ",";
      }
      std::vector<uint32_t> expected;
      bool returns = rng.integer(0, 2) == 0;
      bool is_regular = plain_field_ends(text, '"', returns, expected);
      for (size_t most : {expected.size(), expected.size() / 2}) {
        std::vector<uint32_t> ends(csv_scan::room_for_ends(most));
        auto found = kernels->field_ends(text.data(), text.data() + text.size(),
                                         {.delimiter = ',', .quote = '"', .returns = returns},
                                         ends.data(), most);
        if (most < expected.size()) {
          ASSERT_FALSE(found.regular);
          continue;
        }
        if (!is_regular && found.count > most) continue;
        ASSERT_EQ(found.regular, is_regular) << text;
        if (!is_regular) continue;
        ends.resize(found.count);
        ASSERT_EQ(ends, expected) << text;
        EXPECT_EQ(found.quotes, text.find('"') != std::string::npos);
        ++regular;
      }
    }
  EXPECT_TRUE(regular > 1000 || kernels_of_host().empty()) << regular;
}

// By the same rules; false where it is not regular.
bool plain_ends(const std::string& text, char quote, std::vector<uint32_t>& ends) {
  bool inside = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char before = at == 0 ? '\n' : text[at - 1];
    if (text[at] == '\r' && (before == '\n' || (at + 1 < text.size() && text[at + 1] != '\n')))
      return false;
    if (text[at] == quote) {
      inside = !inside;
      if (inside && before != ',' && before != '\n' && before != quote) return false;
    }
    if (text[at] != '\n') continue;
    if (inside || before == '\n') return false;
    ends.push_back(uint32_t(at));
  }
  return true;
}

TEST(CsvKernels, FindTheEndsOfRecords) {
  Rng rng(4);
  int regular = 0;
  for (const Kernels* kernels : kernels_of_host())
    for (int round = 0; round < 20'000; ++round) {
      std::string text;
      for (int64_t field = 0; field < rng.integer(0, 40); ++field) {
        int64_t kind = rng.integer(0, 60);
        text += kind == 0   ? "\n"
                : kind == 1 ? "\r"
                : kind == 2 ? "a\"b"
                : kind == 3 ? "\"a\nb\""
                : kind < 15 ? "\"q,\"\"x\""
                            : std::string(size_t(rng.integer(1, 12)), '5');
        text += rng.integer(0, 4) == 0 ? "\n" : rng.integer(0, 30) == 0 ? "\r\n" : ",";
      }
      std::vector<uint32_t> expected, ends(csv_scan::most_ends(text.size()));
      bool is_regular = plain_ends(text, '"', expected);
      auto [count, said] = kernels->record_ends(text.data(), text.data() + text.size(),
                                                {.delimiter = ',', .quote = '"'}, ends.data());
      ASSERT_EQ(said, is_regular) << text;
      ends.resize(count);
      if (is_regular) {
        ASSERT_EQ(ends, expected) << text;
      }
      regular += is_regular ? 1 : 0;
    }
  EXPECT_TRUE(regular > 1000 || kernels_of_host().empty()) << regular;
}

}  // namespace
}  // namespace stoker
