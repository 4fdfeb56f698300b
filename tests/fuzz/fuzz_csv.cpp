// The first byte: the size of the buffer, the second the format. Reading on, and going to the blocks of
// an index, must give the same records, and these the same fields one by one and as a grid; fields that
// are written again must come back.
#include <cstring>
#include <vector>

#include <stoker/error.h>

#include "base/memory_file.h"
#include "formats/csv_grid.h"
#include "formats/number_text.h"
#include "fuzz/fuzz.h"

namespace {

using namespace stoker;
using csv_scan::NumberKind;
using csv_scan::NumberTarget;

struct CsvOutcome {
  std::vector<std::string> records;
  bool failed = false;
};

CsvOutcome read_on(std::span<const std::byte> bytes, const CsvReadOptions& options) {
  CsvOutcome outcome;
  MemoryFile file("input", bytes);
  size_t total = 0;
  try {
    CsvReader reader(file, options);
    while (auto record = reader.next()) {
      total += record->size() + 1;
      if (total > 1 << 22) break;  // a compressed file can be long
      outcome.records.emplace_back(*record);
    }
  } catch (const FileError&) {
    outcome.failed = true;
  }
  return outcome;
}

// Records as a grid must have the fields that a walk over each gives.
void read_as_grid(std::span<const std::string_view> records, const CsvFormat& format,
                  const char* begin) {
  if (records.empty()) return;
  size_t columns = 1;
  for (const char* at = records[0].data(); at < records[0].data() + records[0].size(); ++at)
    columns += *at == format.delimiter ? 1 : 0;
  CsvGrid grid(format, columns);
  if (!grid.find(records, begin)) return;
  std::vector<float> values(grid.rows());
  for (size_t column = 0; column < columns; ++column) {
    auto others = grid.numbers(
        column, {reinterpret_cast<char*>(values.data()), sizeof(float), NumberKind::float32});
    std::vector<bool> other(grid.rows());
    for (uint32_t row : others) other[row] = true;
    for (size_t row = 0; row < grid.rows(); ++row) {
      std::string_view field = grid.field(row, column);
      float number = 0;
      const char* end = field.data() + field.size();
      if (!other[row])
        test::expect(parse_float(field.data(), end, number) == end &&
                     std::memcmp(&number, &values[row], sizeof number) == 0);
    }
  }
  for (size_t row = 0; row < grid.rows(); ++row) {
    CsvFields walk(records[row], format);
    try {
      for (size_t column = 0; column < columns; ++column) {
        std::string expected(walk.next().value());
        auto text = grid.text(row, column);
        test::expect(!text || *text == expected);
        CsvFields alone(grid.field(row, column), format);
        test::expect(alone.next() == expected && alone.done());
      }
    } catch (const ValueError&) {  // text behind a quote
      continue;
    }
    test::expect(walk.done());
  }
}

void read_by_index(std::span<const std::byte> bytes, const CsvReadOptions& options) {
  MemoryFile file("input", bytes);
  CsvOutcome on = read_on(bytes, options);
  try {
    RecordIndex index = index_csv(file, options);
    test::expect(!on.failed && index.records() == on.records.size());
    std::string block;
    std::vector<std::string_view> records;
    for (size_t at = 0; at < index.blocks(); ++at) {
      index.read(file, at, block);
      cut_csv(block, options.format, records);
      uint64_t first = index.first_record(at);
      for (size_t i = 0; i < records.size(); ++i)
        test::expect(records[i] == on.records[size_t(first) + i]);
      read_as_grid(records, options.format, block.data());
    }
  } catch (const FileError&) {
    test::expect(on.failed);
  } catch (const ValueError&) {  // gzip
  }
}

void read_fields(const std::string& record, const CsvFormat& format) {
  std::vector<std::string> fields;
  try {
    CsvFields walk(record, format);
    while (auto field = walk.next()) fields.emplace_back(*field);
  } catch (const ValueError&) {
    return;
  }
  for (const std::string& field : fields) {
    float number = 0;
    int64_t whole = 0;
    const char* end = field.data() + field.size();
    const char* behind = parse_float(field.data(), end, number);
    const char* behind_whole = parse_integer(field.data(), end, whole);
    CsvFields plain(field, format);
    float same = 0;
    NumberTarget target{reinterpret_cast<char*>(&same), sizeof same, NumberKind::float32};
    if (plain.take_numbers({&target, 1}, 0, end) == 1 && plain.done())
      test::expect(behind == end && std::memcmp(&same, &number, sizeof same) == 0);
    CsvFields plain_whole(field, format);
    int64_t same_whole = 0;
    target = {reinterpret_cast<char*>(&same_whole), sizeof same_whole, NumberKind::int64};
    if (plain_whole.take_numbers({&target, 1}, 0, end) == 1 && plain_whole.done())
      test::expect(behind_whole == end && same_whole == whole);
    if (format.quote == '\0') continue;
    std::string written = csv_field(field, format);
    CsvFields again(written, format);
    test::expect(again.next() == field && !again.next());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::Input input(data, size);
  uint8_t buffer = input.byte(), choice = input.byte();
  CsvReadOptions options{.format = {.delimiter = choice % 2 == 0 ? ',' : ';',
                                    .quote = choice % 4 < 3 ? '"' : '\0',
                                    .comment = choice % 8 < 4 ? '\0' : '#'},
                         .skip_first = choice % 16 < 8,
                         .most_record_bytes = choice % 32 < 16 ? 5000U : 20U,
                         .buffer_bytes = size_t(buffer) * 3,
                         .piece_bytes = choice % 64 < 32 ? 1U << 20 : 64U + buffer};
  read_by_index(input.rest(), options);
  for (const std::string& record : read_on(input.rest(), options).records)
    read_fields(record, options.format);
  return 0;
}
