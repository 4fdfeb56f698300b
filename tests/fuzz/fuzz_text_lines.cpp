// The first byte: the size of the buffer. Reading on, and going to the blocks of an index, must give
// the same lines; so must a text that is repaired twice.
#include <vector>

#include <stoker/error.h>

#include "base/memory_file.h"
#include "base/utf8.h"
#include "formats/lines.h"
#include "fuzz/fuzz.h"

namespace {

using namespace stoker;

struct Outcome {
  std::vector<std::string> lines;
  bool failed = false;
};

Outcome read_on(std::span<const std::byte> bytes, const LineOptions& options) {
  Outcome outcome;
  MemoryFile file("input", bytes);
  size_t total = 0;
  try {
    LineReader reader(file, options);
    while (auto line = reader.next()) {
      total += line->size() + 1;
      if (total > 1 << 22) break;  // a compressed file can be long
      outcome.lines.emplace_back(*line);
      test::expect(reader.number() == outcome.lines.size());
    }
  } catch (const FileError&) {
    outcome.failed = true;
  }
  return outcome;
}

void read_by_index(std::span<const std::byte> bytes, const LineOptions& options) {
  MemoryFile file("input", bytes);
  Outcome on = read_on(bytes, options);
  try {
    RecordIndex index = index_lines(file, options);
    test::expect(!on.failed && index.records() == on.lines.size());
    std::string block;
    std::vector<std::string_view> lines;
    for (uint64_t line = 0; line < index.records(); ++line) {
      size_t at = index.block_of(line);
      if (line == index.first_record(at)) index.read(file, at, block), cut_lines(block, lines);
      test::expect(lines[size_t(line - index.first_record(at))] == on.lines[size_t(line)]);
    }
  } catch (const FileError&) {
    test::expect(on.failed);
  } catch (const ValueError&) {  // gzip
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::Input input(data, size);
  uint8_t choice = input.byte();
  LineOptions options{.most_line_bytes = choice % 2 == 0 ? 1000U : 20U,
                      .buffer_bytes = size_t(choice) * 3};
  read_by_index(input.rest(), options);
  for (const std::string& line : read_on(input.rest(), options).lines) {
    std::string repaired = repaired_utf8(line);
    test::expect(valid_utf8_bytes(repaired) == repaired.size());
    test::expect((valid_utf8_bytes(line) == line.size()) == (repaired == line));
  }
  return 0;
}
